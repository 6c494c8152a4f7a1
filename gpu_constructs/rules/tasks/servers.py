"""Servers of models: whether they use the GPUs that their container has."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Container, Task, Unknown
from gpu_constructs.hardware.servers import ServerFacts, server_of_image
from gpu_constructs.rules.rule import Problem, warning

# Where these are, the number of GPUs may be in a file, come from a variable of a shell, or be spread over hosts.
_OPEN = ("$", "--config", "--nnodes", "--distributed-executor-backend", "ray")
_DIGITS = 5


@warning(
    "GPU236",
    question="does the server of a model use all GPUs of its container, and no more?",
    because="vLLM and SGLang use one GPU unless an argument says otherwise, ComfyUI uses one in any case, and a server "
    "that is told of more GPUs than it has does not start",
    source="https://docs.vllm.ai/en/stable/serving/parallelism_scaling.html",
)
def all_used(task: Task) -> Iterator[Problem]:
    for container in task.containers:
        server = server_of_image(container.image) if isinstance(container.image, str) else None
        gpus = container.gpus
        if server is None or isinstance(gpus, Unknown) or not gpus:
            continue
        words = _words(container)
        if server.max_gpus is not None and gpus > server.max_gpus:
            yield _problem(task, container, f"uses {server.max_gpus} of its {gpus} GPUs", f"{server.max_gpus} GPU")
        elif server.parallel and words and not container.entry_point:
            told = _told(server, words)
            argument = f"{server.gpu_arguments[0]} {gpus}"
            if told is None and gpus > 1:
                yield _problem(task, container, f"uses one of its {gpus} GPUs", f"{argument} in Command, or 1 GPU")
            elif told is not None and told > gpus:
                yield _problem(task, container, f"is told to use {told} GPUs and has {gpus}", f"{argument} in Command")


def _problem(task: Task, container: Container, what: str, fix: str) -> Problem:
    return Problem(
        container=container,
        message=f"container {container.name} of {task.name} ({brief(str(container.image))}) {what}",
        fix=fix,
        property_name="Command",
    )


def _words(container: Container) -> tuple[str, ...] | None:
    """The words of a command; None where it may say more than is known here."""
    if any(isinstance(each, Unknown) for each in container.command):
        return None
    words = tuple(" ".join(str(each) for each in container.command).replace("=", " ").split())
    return None if any(mark in word for word in words for mark in _OPEN[:2]) or {*_OPEN[2:]} & {*words} else words


def _told(server: ServerFacts, words: tuple[str, ...]) -> int | None:
    """How many GPUs a server is told to use at least; None where it is told nothing."""
    names = {each.replace("_", "-"): place for place, each in enumerate(words) if each.startswith("-")}
    found = [words[names[each] + 1 : names[each] + 2] for each in server.parallel if each in names]
    numbers = [
        int(value) for (value,) in (each for each in found if each) if value.isdecimal() and len(value) < _DIGITS
    ]
    return max(numbers, default=1) if found else None

"""Model servers: whether they use the GPUs that their container has."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import brief
from gpu_constructs.facts.servers import ServerFacts, server_of_image
from gpu_constructs.fleet import Container, Task, Unknown
from gpu_constructs.rules.rule import Problem, warning

# Where these are, the number of GPUs may be in a file, come from a variable of a shell, or be spread over hosts.
_OPEN = ("$", "--config", "--nnodes", "--distributed-executor-backend", "ray")
_DIGITS = 5
# Entry points that run a command which names the server itself.
_SHELLS = frozenset({"sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/env"})
_PROGRAMS = frozenset({"sglang", "text-generation-launcher", "vllm"})


@warning(
    "GPU236",
    question="does a model server use all GPUs of its container, and no more?",
    because="vLLM and SGLang use one GPU unless an argument says otherwise, ComfyUI uses one unless a workflow "
    "places models on others, and a server that is set to use more GPUs than it has does not start",
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
            what = f"uses {server.max_gpus} of its {gpus} GPUs, unless a workflow places models on the others"
            yield _problem(task, container, what, f"{server.max_gpus} GPU")
        elif server.gpu_arguments and words is not None:
            told = _told(server, words) or _told_by_variable(server, container)
            argument = f"{server.gpu_arguments[0]} {gpus}"
            if told is None and gpus > 1 and words and server.parallel:
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
    written = (*container.entry_point, *container.command)
    if any(isinstance(each, Unknown) for each in written):
        return None
    words = tuple(" ".join(map(str, written)).replace("=", " ").split())
    if any(mark in word for word in words for mark in _OPEN[:2]) or {*_OPEN[2:]} & {*words}:
        return None
    # What another entry point makes of its command is not known.
    is_known = not container.entry_point or words[0] in _SHELLS or _is_server(words[0])
    return words if is_known and (not container.entry_point or any(map(_is_server, words))) else None


def _is_server(word: str) -> bool:
    """Whether a word is the program of a server, or a module of it as ``vllm.entrypoints.openai.api_server``."""
    return word.rpartition("/")[2].partition(".")[0] in _PROGRAMS


def _told_by_variable(server: ServerFacts, container: Container) -> int | None:
    value = dict(container.environment).get(server.gpu_variable or "")
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < _DIGITS else None


def _told(server: ServerFacts, words: tuple[str, ...]) -> int | None:
    """How many GPUs a server is told to use at least; None where it is told nothing."""
    names = {each.replace("_", "-"): place for place, each in enumerate(words) if each.startswith("-")}
    arguments = server.parallel or server.gpu_arguments[:1]
    found = [words[names[each] + 1 : names[each] + 2] for each in arguments if each in names]
    numbers = [
        int(value) for (value,) in (each for each in found if each) if value.isdecimal() and len(value) < _DIGITS
    ]
    return max(numbers, default=1) if found else None

"""Commands of model servers and of torchrun: do they start, and use the GPUs of their container?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from gpu_constructs.errors import counted
from gpu_constructs.facts.model_memory import may_split
from gpu_constructs.facts.servers import ServerFacts, server_of_image, uses_other_hosts
from gpu_constructs.fleet import Container, Task, Unknown, Workload
from gpu_constructs.rules.evidence.accelerated import gpus_in_words
from gpu_constructs.rules.evidence.server_commands import (
    arguments_of,
    longer_than_model,
    model_of,
    not_replaced,
    refused_at,
    words_of,
)
from gpu_constructs.rules.evidence.torchrun import processes_of_torchrun
from gpu_constructs.rules.finding import and_list
from gpu_constructs.rules.rule import Context, Problems, error
from gpu_constructs.rules.tasks.images import container_problem


@error(
    "GPU236",
    question="does a model server use all GPUs of its container, and do it and torchrun ask for no more?",
    because="vLLM and SGLang use one GPU unless an argument says otherwise, ComfyUI uses one unless a workflow "
    "places models on others, and a server that is set to use more GPUs than it has does not start; most "
    "programs give each process of torchrun the GPU of its number, and end with invalid device ordinal without it",
    softer="where it uses fewer GPUs than it has, or may see others, privileged; for torchrun, since processes "
    "may share a GPU",
    # of torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html
    source="https://docs.vllm.ai/en/stable/serving/parallelism_scaling.html",
)
def all_used(context: Context) -> Problems:
    for asking, container in ((by, each) for one, by in context.tasks_as_run for each in one.containers):
        gpus = 1 if container.mps or container.gpu_part else container.gpus
        if isinstance(gpus, Unknown) or not gpus:
            continue
        processes = processes_of_torchrun(container)
        server = server_of_image(container.image) if isinstance(container.image, str) else None
        if processes > gpus:
            what = f"starts {processes} processes with torchrun, and has {gpus_in_words(container, gpus)}"
            yield container_problem(asking, container, what, f"--nproc-per-node {gpus} in Command")
        elif server is not None and not processes:
            yield from _used_by_server(asking, container, server, gpus)


def _used_by_server(asking: Task | Workload, container: Container, server: ServerFacts, gpus: int) -> Problems:
    """Whether a server uses the GPUs of its container, no more and no fewer."""
    if server.max_gpus is not None and gpus > server.max_gpus:
        what = f"uses {server.max_gpus} of its {gpus} GPUs, unless a workflow places models on the others"
        yield container_problem(asking, container, what, f"{server.max_gpus} GPU")
        return
    words = words_of(server, container)
    if not server.gpu_arguments or words is None:
        return
    said = arguments_of(server, container, words)
    sizes = server.sizes(said)
    used = 0 if uses_other_hosts(said) else prod(size for _, size in sizes.values())
    kind = max(sizes, key=lambda each: sizes[each][1], default="tensor")
    option, size = sizes.get(kind, (server.gpu_arguments[0], 1))
    most = gpus * size // max(used, 1)
    divided = _divided(container, said, most) if kind == "tensor" else most
    if used > gpus:
        of = f" ({and_list(f'{each} {size}' for each, size in sizes.values())})" if len(sizes) > 1 else ""
        what = f"is told to use {used} GPUs{of} and has {gpus_in_words(container, gpus)}, so that it does not start"
        enough = [f"{option} {divided}"] if divided else [f"{each} 1" for each, _ in sizes.values()]
        # With the privileges of its host it sees all GPUs.
        problem = container_problem(asking, container, what, f"{and_list(enough)} in Command")
        yield replace(problem, is_certain=container.privileged is not True)
    elif 0 < used < gpus:
        # Copies within the GPUs of --tp of SGLang: `sizes` does not count them.
        is_open = "data" not in sizes and not said.keys().isdisjoint(server.parallel.get("data", ()))
        is_told = bool(sizes or (words and server.parallel))
        if is_told and not is_open and not server.has_other_copies(said):
            more = f"{option} {most} in Command, or " if divided == most else ""
            fix = f"{more}{counted(used, 'GPU')}"
            yield container_problem(asking, container, f"uses {used} of its {gpus} GPUs", fix)


def _divided(container: Container, said: Mapping[str, object], most: int) -> int:
    """The most GPUs, of so many, among which a server can divide its model, as far as that is known."""
    model = model_of(container)
    # With attention that is data parallel, SGLang divides heads among fewer GPUs.
    if model is None or "--enable-dp-attention" in said:
        return most
    return next((each for each in range(min(most, model.shape.heads or 1), 0, -1) if may_split(model.shape, each)), 0)


@error(
    "GPU394",
    question="does a model server start with the arguments of its container?",
    because="the entry point of such an image is the server, and gets the texts of Command as arguments: where these "
    "name the program once more, or a shell, or one text has an option and its value, or an option has none, it ends "
    "at once, with unrecognized arguments or an unknown command; --gpu-memory-utilization is more than 0 and at most "
    "1, --max-model-len of vLLM and --context-length of SGLang no more than max_position_embeddings of the model, and "
    "a model that is a directory needs a volume, since the published images have none",
    softer="for a long context, since a copy of a model may have another config.json, and for a variable that no shell "
    "replaces",
    source="https://github.com/vllm-project/vllm/issues/37133",
)
def started_once(context: Context) -> Problems:
    for task, _ in context.tasks_as_run:
        for container in task.containers:
            if found := refused_at(container):
                yield replace(container_problem(task, container, *found), is_certain=True)
            elif context.has_unknown_variables(task, container):
                continue
            elif found := not_replaced(container) or longer_than_model(container):
                yield container_problem(task, container, *found)

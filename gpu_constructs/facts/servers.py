"""The model servers that people run, as data: image, port, health, arguments, caches, all with sources.

``data/servers.json`` has ``{"value": …, "source": …}`` for each field of `ServerFacts`; a field that is not there does
not exist for that server or has no source, which the source says with ``UNCONFIRMED``. It is read when first asked for.
Of the servers ``without_preset`` it has what a check reads. ``data/missing_tags.json`` has tags that do not exist: a
regular expression for each image, and a tag instead. The devices that an image is made for are read from its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from itertools import pairwise
from math import inf
from typing import Any

from gpu_constructs.facts import records
from gpu_constructs.facts.cuda import cuda_image
from gpu_constructs.facts.names import image_name
from gpu_constructs.facts.values import StrEnum, dataclass

_COMFYUI = r"(?i)(?:^|/)[^/:@]{0,64}comfy-?ui"
_VERSION = r"v?([0-9]{1,3})\.([0-9]{1,3})"
_PART = "--gpu-memory-utilization"  # gt=0, le=1 in https://github.com/vllm-project/vllm/blob/main/vllm/config/cache.py
# vLLM and SGLang read options with argparse, and end with "expected one argument"
# (https://docs.vllm.ai/en/stable/cli/serve.html); SGLang has neither of these.
_ALWAYS_WITH_VALUE = (_PART, "--max-model-len")
# With these, and with Ray, GPUs of other hosts may take part, and with those some copies of the model may run there:
# https://docs.vllm.ai/en/stable/serving/parallelism_scaling.html and data_parallel_deployment.html.
_OTHER_HOSTS = "--nnodes|-n|--(?:master|dist-init|nccl-init)-addr"
_COPIES = "--?(?:data-parallel|dp|headless|num-gpus|ulysses|enable-cfg)"  # the last: SGLang Diffusion


class MadeFor(StrEnum):
    """The devices that a container image is made for, as messages call them."""

    NVIDIA = "NVIDIA GPUs"
    AMD = "AMD GPUs"
    NEURON = "Neuron devices"
    CPUS = "CPUs alone"


# In this order. NVIDIA tags its images of CUDA by the version, so that no other word in a tag says more. The images of
# https://github.com/aws-neuron/deep-learning-containers are in several registries.
_BY_NAME = (
    (re.compile(r"(?:inference|training)(?:-vllm)?-neuronx?[:@]"), MadeFor.NEURON),
    (re.compile(r"^(?:(?:docker|nvcr)\.io/)?nvidia/cuda(?:[:@]|$)"), MadeFor.NVIDIA),
    # AMD's images, such as rocm/vllm, and ollama/ollama:rocm; latest-gpu-nvidia-cuda-12 of LocalAI
    (re.compile(r"^(?:docker\.io/)?rocm/|(?:^|[:/_-])rocm[^/]{0,255}$"), MadeFor.AMD),
    (re.compile(r"(?:^|[:/_-])(?:gaudi|hpu|intel|musa|openvino|vulkan|xpu)"), None),
    (re.compile(r":[^@/]{0,128}-(?:gpu|cuda(?:-?[0-9]{2})?)(?:@|$)"), MadeFor.NVIDIA),
    (re.compile(r"(?:^|/)vllm/vllm-openai-cpu(?:[:@]|$)"), MadeFor.CPUS),
)
# 3.3.7-neuron and cpu-1.8 of Hugging Face's servers
_BY_TAG_OF_SERVER = (
    (re.compile(r"[:/_-]neuron"), MadeFor.NEURON),
    (re.compile(r"[:/_-]cpu"), MadeFor.CPUS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What is known of one server.

    Texts with ``{model}``, ``{port}``, ``{gpus}`` and ``{cache}`` are filled in for one container.

    Attributes:
        repository: Its image without the tag, or with ``/`` at its end what all its images are below; None where only
            the community publishes some.
        tag: A tag that is known to exist; None where no source names a recent one.
        entry_point: What the entry point of its image starts, and a command does not; empty where the command does.
        address: The only address at which it listens; None for all of them.
        other_ports: Where else it listens, by the argument that names another port.
        health_path: What answers with 200 once it serves.
        unanswered: Paths that it answers with an error.
        grace_seconds: How long it may load before that counts.
        command: What follows the entry point of its image, so that it is reached from other hosts.
        model: The model where the user names none.
        same_as_model: What else the option before the model is called.
        names_model_first: The first version, as (major, minor), of which the command begins with the model, without the
            option before it; None if that stays.
        gpu_arguments: What tells it to use several GPUs at once; empty where it needs no telling.
        takes_variables: Whether variables do for its arguments, such as ``NUM_SHARD`` for ``--num-shard``.
        is_strict: Whether it ends at an option without its value, and at one that has its value in the same text.
        parallel: Arguments that make it use more than one GPU, by what they divide; empty where it needs none. Of
            copies of the model, ``data``, there may be ``data_here`` on this host.
        copies_share_gpus_with: The arguments with which copies are within the GPUs of ``tensor``, as the beginning of
            an option and its value, a regular expression; empty where they never are.
        gpus_from: Arguments that some GPUs lack, each with the compute capability that it needs, by the version of the
            server from which that is so.
        arm64_gpus_from: The compute capability from which on its image for arm64 has code, by the version of the server
            from which that is so.
        max_gpus: GPUs that it uses where no request asks for more; None for no limit.
        cache_variables: Environment variables that name the directory where it keeps what it downloads.
        is_small: Whether its image takes few GiB, of CUDA without its libraries.
        of_gpus: What a tag of an image for GPUs has; empty where others say that they are for something else.
        architecture: What all its images are built for, as ECS calls it; empty where that is not one, or not known.
    """

    repository: str | None = None
    tag: str | None = None
    entry_point: tuple[str, ...] = ()
    port: int | None = None
    address: str | None = None
    other_ports: Mapping[str, int] = field(default_factory=dict)
    health_path: str | None = None
    unanswered: tuple[str, ...] = ()
    grace_seconds: int | None = None
    command: tuple[str, ...] = ()
    model: str | None = None
    same_as_model: tuple[str, ...] = ()
    names_model_first: tuple[int, int] | None = None
    gpu_arguments: tuple[str, ...] = ()
    takes_variables: bool = False
    is_strict: bool = False
    parallel: Mapping[str, Sequence[str]] = field(default_factory=dict)
    copies_share_gpus_with: str = ""
    gpus_from: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    arm64_gpus_from: Mapping[str, str] = field(default_factory=dict)
    max_gpus: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    cache_directory: str | None = None
    cache_variables: Mapping[str, str] = field(default_factory=dict)
    is_small: bool = False
    of_gpus: str = ""
    architecture: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    def sizes(self, said: Mapping[str, object]) -> Mapping[str, tuple[str, int]]:
        """What it is told of `parallel`: the option and its size on this host, 0 where that is not known."""
        kinds = self.parallel or {"tensor": self.gpu_arguments[:1]}
        told = {kind: (each, f"{said[each]}") for each in said for kind, names in kinds.items() if each in names}
        sizes = {kind: (each, int(of) if re.fullmatch("[0-9]{1,4}", of) else 0) for kind, (each, of) in told.items()}
        if "data" in sizes and self.has_other_copies(said):
            sizes["data"] = sizes.pop("data_here", (sizes["data"][0], 1))
        sharing = self.copies_share_gpus_with if "tensor" in sizes else ""
        if sharing and any(re.match(sharing, f"{each} {said[each]}") for each in said):
            sizes.pop("data", None)
        return sizes

    def has_other_copies(self, said: Mapping[str, object]) -> bool:
        """Whether it is told more of copies of the model than their number: some of them may run on other hosts."""
        return any(re.match(_COPIES, each) and each not in self.parallel.get("data", ()) for each in said)

    def command_in(self, image: str | None) -> tuple[str, ...]:
        """Its command in a published image, where a tag that is no version counts as new; else in the oldest form."""
        if self.names_model_first is None or image is None:
            return self.command
        return self.command[1:] if _version_in(image) >= self.names_model_first else self.command

    def needed_by_arguments(self, image: str, told: Mapping[str, object]) -> Iterator[tuple[str, tuple[int, int]]]:
        """The arguments of its command that some GPUs lack, each with the first compute capability that has it."""
        for argument, versions in self.gpus_from.items():
            option, _, value = argument.partition(" ")
            if told.get(option) == value and (needed := needed_in(image, versions)) is not None:
                yield argument, needed

    def needed_on_arm64(self, image: str) -> tuple[int, int] | None:
        """The first compute capability that its image for arm64 has code for; None where its version is not known."""
        tag = image_name(image).tag
        is_new = tag in {"", "latest"} and "@" not in image
        return needed_in(image, self.arm64_gpus_from) if is_new or re.match(_VERSION, tag) else None

    def directory_of_model(self, words: tuple[str, ...]) -> str:
        """The directory in its container that its command names as its model; empty where it names none."""
        option, first = self.argument_for("{model}"), "".join(words[:1] if self.names_model_first else ())
        told = arguments_in(words)
        model = next((told[each] for each in (option, *self.same_as_model) if each in told), first)
        return model if model.startswith("/") else ""

    def argument_for(self, what: str) -> str:
        """The argument of its command that a text follows, such as ``{port}``; empty where there is none."""
        return next((name for name, value in arguments_in(self.command).items() if value == what), "")

    def refuses(self, words: tuple[str, ...]) -> tuple[str, str] | None:
        """What it ends at in the words of its command, with a fix; None where that is nothing that is known here."""
        part = arguments_in(words).get(_PART, "")
        if re.fullmatch(r"[0-9]{0,8}\.?[0-9]{1,8}", part) and not 0 < float(part) <= 1:
            return f"{_PART} {part}, which is not above 0 and at most 1", f"{_PART} 0.9"
        if not self.is_strict:
            return None
        told = arguments_in((*self.command, *self.gpu_arguments)).items()
        with_value = {*_ALWAYS_WITH_VALUE, *(name for name, value in told if value and not value.startswith("-"))}
        for option, value in pairwise([*words, "--"]):  # after the last word is no value either
            if option in with_value and value.startswith("--"):
                return f"{option} without a value", f"a value after {option}"
        for option, _, value in (each.partition(" ") for each in words):
            if value and re.fullmatch(r"--[^=]+", option):
                return f"{option} and its value as one text", f"two texts, {option!r} and its value"
        return None


@lru_cache(maxsize=1024)  # several rules ask for the same command
def arguments_in(command: tuple[str, ...]) -> Mapping[str, str]:
    """The arguments of a command, each with the word that follows it or its ``=``."""
    words = [part for each in command for part in each.split("=", 1)]
    found: dict[str, str] = {}
    for word, value in pairwise([*words, ""]):
        if word.startswith("-"):
            found.pop(name := word.replace("_", "-"), None)  # the last one counts
            found[name] = value
    return found


def uses_other_hosts(said: Mapping[str, object]) -> bool:
    """Whether GPUs of other hosts may take part, so that those of one container need not be enough."""
    return any(value == "ray" or (re.fullmatch(_OTHER_HOSTS, each) and value != "1") for each, value in said.items())


def _pair(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


def needed_in(image: str, versions: Mapping[str, str]) -> tuple[int, int] | None:
    """The compute capability that the version of an image needs, as it is from some versions on, the oldest first."""
    found = [needed for first, needed in versions.items() if _pair(first) <= _version_in(image)]
    return _pair(found[-1]) if found else None


def _version_in(image: str) -> tuple[float, float]:
    """The version in the tag of an image; one that is no version counts as new."""
    found = re.match(_VERSION, image_name(image).tag)
    return (inf, inf) if found is None else (int(found[1]), int(found[2]))


@cache
def known_servers() -> Mapping[str, ServerFacts]:
    """What is known of each server, by its name."""
    file = records.read("servers")
    return {name: _facts(row) for name, row in (file["servers"] | file["without_preset"]).items()}


@lru_cache(maxsize=1024)
def server_of_image(image: str) -> ServerFacts | None:
    """The server that a container image runs, as far as its name, or the group of names that it is in, says so."""
    name = image_name(image).repository
    found = _by_repository().get(name) or _by_repository().get(f"{name.rpartition('/')[0]}/")
    return known_servers()["comfyui"] if found is None and re.search(_COMFYUI, image) else found


def made_for_devices(image: str) -> MadeFor | None:
    """The devices that a container image is made for; None where its name does not say it."""
    server = server_of_image(image)
    is_published = server is not None and server.repository is not None
    for pattern, made in (*_BY_NAME, *(_BY_TAG_OF_SERVER if is_published else ())):
        if pattern.search(image):
            # A digest may stand for another image than a tag beside it.
            return None if made is MadeFor.CPUS and "@" in image else made
    if server is None:
        return MadeFor.NVIDIA if cuda_image(image) else None
    is_for_gpus = not server.of_gpus or server.of_gpus in image
    return MadeFor.NVIDIA if is_for_gpus else None if "@" in image else MadeFor.CPUS


def is_large(image: str) -> bool:
    """Whether a container image is known to take many GiB: a server of models, or CUDA with its libraries."""
    server, cuda = server_of_image(image), cuda_image(image)
    return server is not None and (not server.is_small or (cuda is not None and cuda.has_libraries))


def tag_instead_of(image: str) -> str:
    """A tag that exists, where its registry certainly has not the tag of an image, ``latest`` if none is written."""
    name, tag = image_name(image)
    rows = records.read("missing_tags")["images"] if "@" not in image else ()
    missing = (each for each in rows if name in each["names"] and re.fullmatch(each["pattern"], tag or "latest"))
    return next((each["instead"] for each in missing), "")


@cache
def _by_repository() -> Mapping[str, ServerFacts]:
    return {each.repository: each for each in known_servers().values() if each.repository is not None}


def _facts(row: Mapping[str, Any]) -> ServerFacts:
    values = records.frozen({key: each["value"] for key, each in row.items()})
    return ServerFacts(**values, sources={key: each["source"] for key, each in row.items()})

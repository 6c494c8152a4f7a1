"""Which combinations of `asks` AWS cannot run, and which can be and are remarked on.

From the pages that each row names, read on 2026-11-21, not from this library's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_constructs import DoesNotFitError, GpuConstructsError, IncompatibleError, InvalidValueError
from tests.matrix.asks import Ask, Host, Mode

__all__ = ["CONTRADICTIONS", "REMARKS", "REMARKS_ON_HOSTS", "Combination", "Contradiction"]

_ECS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide"
_GPU = f"{_ECS}/ecs-gpu-specifying.html"
_SHARING = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_NvidiaMpsAllocation.html"
_MANAGED = f"{_ECS}/managed-instances-tasks-services.html"
_NEURON = f"{_ECS}/ecs-inference.html"
_TYPES = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html"
_EFA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
_CUDA = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities"


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One combination.

    Args:
        ask: The task.
        mode: Its network mode as given; None for the default.
        hosts: Where it may run.
    """

    ask: Ask
    mode: Mode | None
    hosts: tuple[Host, ...]

    def __str__(self) -> str:
        return f"{self.ask.name} on {' and '.join(each.name for each in self.hosts)} in {self.mode or 'default'} mode"

    @property
    def managed(self) -> list[Host]:
        return [each for each in self.hosts if each.is_managed]

    @property
    def groups(self) -> list[Host]:
        return [each for each in self.hosts if not each.is_managed]

    @property
    def is_placed(self) -> bool:
        """Whether the emulator runs it, which it does where AWS says somewhere that it can be."""
        return not REMARKS["GPU030"](self)

    @property
    def contradictions(self) -> list[Contradiction]:
        """Why it cannot be; empty where it can."""
        return [each for each in CONTRADICTIONS if each.applies(self)]


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Why a combination cannot be.

    Args:
        name: In our words.
        source: AWS's.
        error: What is raised.
        said: What its text has, a regular expression.
        applies: Whether it is so of a combination.
    """

    name: str
    source: str
    error: type[GpuConstructsError]
    said: str
    applies: Callable[[Combination], bool]


def _no(
    name: str, source: str, error: type[GpuConstructsError], said: str, applies: Callable[[Combination], bool]
) -> Contradiction:
    return Contradiction(name=name, source=source, error=error, said=said, applies=applies)


def _lacks_memory(its: Combination) -> bool:
    wanted = its.ask.largest("gpu_memory_gib", 0) * 1024
    return any(0 < each.gpu_memory_mib < wanted for each in its.hosts)


def _lacks_capability(its: Combination, least: tuple[int, int]) -> bool:
    return any((0, 0) < each.capability < least for each in its.hosts)


# Number formats that a GPU computes in by itself, by the compute capability that brought them: bf16 with Ampere, fp8
# with Ada and Hopper (NVIDIA's CUDA programming guide and the architecture papers of both).
_FORMATS = {"bf16": (8, 0), "fp8": (8, 9)}


CONTRADICTIONS: tuple[Contradiction, ...] = (
    _no(
        "a GPU of hosts that have none",
        _GPU,
        IncompatibleError,
        r"is CPU capacity, .* has no GPU|carr(y|ies) .*: ECS hands out NVIDIA GPUs only",
        lambda its: bool(its.ask.gpu_containers) and any(not (each.gpus or each.part) for each in its.hosts),
    ),
    _no(
        "more GPUs than a host has",
        _GPU,
        DoesNotFitError,
        r"does not fit on .*GPUs: |no instance type can run",
        lambda its: any(0 < each.gpus < its.ask.whole for each in its.hosts),
    ),
    _no(
        "several whole GPUs of hosts that have a part of one",
        _GPU,
        IncompatibleError,
        r"whole GPUs are asked",
        lambda its: its.ask.whole > 1 and any(each.part for each in its.hosts),
    ),
    _no(
        "a part of a GPU of hosts that have whole ones",
        _GPU,
        IncompatibleError,
        r"is placed on fractional hosts only",
        lambda its: bool(its.ask.parts) and any(each.gpus for each in its.hosts),
    ),
    _no(
        "a larger part than the hosts have",
        _GPU,
        IncompatibleError,
        r"has 0\.25 of a GPU, and 0\.5 of one is asked",
        lambda its: bool(its.ask.parts) and any(0 < each.part < max(its.ask.parts) for each in its.hosts),
    ),
    _no(
        "the one part of a GPU twice",
        _GPU,
        IncompatibleError,
        r"a host has one part, which serves one container",
        lambda its: len(its.ask.parts) > 1 and any(each.part for each in its.hosts),
    ),
    _no(
        "all GPUs, and another",
        _GPU,
        IncompatibleError,
        r"asks for ALL GPUs of the host, which leaves none",
        lambda its: its.ask.takes_all and its.ask.gpu_containers > 1 and not its.ask.shares,
    ),
    _no(
        "a share beside GPUs of its own",
        _SHARING,
        IncompatibleError,
        r"must use the same option",
        lambda its: bool(its.ask.shares) and its.ask.gpu_containers > len(its.ask.shares),
    ),
    _no(
        "a share of a part",
        _SHARING,
        IncompatibleError,
        r"only whole GPUs are shared",
        lambda its: bool(its.ask.shares) and any(each.part for each in its.hosts),
    ),
    _no(
        "shares of more memory than a GPU has",
        _SHARING,
        DoesNotFitError,
        r"fits on no GPU of .*memory|no instance type can run .*MPS",
        lambda its: any(each.gpus and each.gpu_memory_mib < sum(its.ask.shares) for each in its.hosts),
    ),
    _no(
        "a share on an image before ECS agent 1.107.0",
        "https://github.com/aws/amazon-ecs-agent/releases/tag/v1.107.0",
        IncompatibleError,
        r"pinned to the release of 2026-07-08",
        lambda its: bool(its.ask.shares) and any(each.shares_gpus is False for each in its.hosts),
    ),
    _no(
        "more memory than a GPU has",
        _TYPES,
        DoesNotFitError,
        r"GiB of memory on each GPU",
        _lacks_memory,
    ),
    _no(
        "a number format that the GPUs have not",
        _CUDA,
        DoesNotFitError,
        r"needs (bf16|fp8), which takes compute capability",
        lambda its: any(
            its.ask.largest("precision", "") == name and _lacks_capability(its, least)
            for name, least in _FORMATS.items()
        ),
    ),
    _no(
        "a higher compute capability than the GPUs have",
        _CUDA,
        DoesNotFitError,
        r"needs \d+\.\d or higher \(CUDA compute capability\)",
        lambda its: _lacks_capability(its, its.ask.largest("min_compute_capability", (0, 0))),
    ),
    _no(
        "NVLink between GPUs that PCIe joins",
        _TYPES,
        DoesNotFitError,
        r"needs NVLink between its GPUs",
        lambda its: (
            its.ask.asks("nvlink")
            and its.ask.whole > 1
            and any(each.gpus > 1 and not each.has_nvlink for each in its.hosts)
        ),
    ),
    _no(
        "GPUs chosen by name",
        "https://github.com/aws/amazon-ecs-agent/blob/master/agent/api/task/task.go",
        InvalidValueError,
        r"^(environment|secrets): .* sets NVIDIA_VISIBLE_DEVICES .* the ECS agent overwrites it",
        lambda its: any(
            "NVIDIA_VISIBLE_DEVICES" in (*each.options.get("environment", ()), each.secret)
            for each in its.ask.containers
        ),
    ),
    _no(
        "EFA of hosts without",
        _EFA,
        IncompatibleError,
        r"have no Elastic Fabric Adapter",
        lambda its: its.ask.asks("efa") and any(not each.adapters for each in its.hosts),
    ),
    _no(
        "a Neuron device of hosts that have none",
        _NEURON,
        IncompatibleError,
        r"no Neuron device",
        lambda its: bool(its.ask.neuron) and any(not each.neuron for each in its.hosts),
    ),
    _no(
        "more Neuron devices than a host has",
        _NEURON,
        DoesNotFitError,
        r"cannot run on .*Neuron devices: ",
        lambda its: any(
            each.neuron and sum(1 if want == "ALL" else want for want in its.ask.neuron) > each.neuron
            for each in its.groups
        ),
    ),
    _no(
        "all Neuron devices, and another",
        _NEURON,
        IncompatibleError,
        r"asks for all Neuron devices of the host, of which|only one container of a task can have Neuron devices",
        lambda its: "ALL" in its.ask.neuron and len(its.ask.neuron) > 1,
    ),
    _no(
        "some of the Neuron devices of Managed Instances",
        _NEURON,
        IncompatibleError,
        r"a container gets all Neuron devices of its host",
        lambda its: bool(its.managed) and any(want != "ALL" for want in its.ask.neuron),
    ),
    _no(
        "Neuron devices for a task that can move",
        _NEURON,
        IncompatibleError,
        r"give out Neuron devices as a resource, and hosts of an Auto Scaling group",
        lambda its: bool(its.ask.neuron and its.managed and its.groups),
    ),
    _no(
        "bridge on Managed Instances",
        _MANAGED,
        IncompatibleError,
        r"network mode bridge is not valid",
        lambda its: bool(its.managed) and its.mode == "bridge",
    ),
    _no(
        "a size of /dev/shm on Managed Instances",
        _MANAGED,
        IncompatibleError,
        r"where sharedMemorySize is not valid",
        lambda its: bool(its.managed) and its.ask.asks("shared_memory_mib"),
    ),
    _no(
        "Docker's security options on Managed Instances",
        _MANAGED,
        IncompatibleError,
        r"where dockerSecurityOptions is not valid",
        lambda its: bool(its.managed) and its.ask.asks("docker_security_options"),
    ),
    _no(
        "two architectures",
        f"{_ECS}/task_definition_parameters.html#runtime-platform",
        IncompatibleError,
        r"one container image runs on one architecture",
        lambda its: len({each.is_arm for each in its.hosts}) > 1,
    ),
)


# What can be, and is remarked on


def _no_words(its: Combination) -> bool:
    return any(each.part and (its.ask.whole or any(part < each.part for part in its.ask.parts)) for each in its.hosts)


def _all_memory(its: Combination) -> bool:
    """Shares of all the memory that a GPU has nominally, of which some is never free."""
    return any(each.gpu_memory_mib == sum(its.ask.shares) for each in its.hosts if each.gpus)


REMARKS: Mapping[str, Callable[[Combination], bool]] = {
    # No page says what ALL or one GPU is on a host with a part of one, nor whether it takes a task that asks for less.
    "GPU006": lambda its: _no_words(its) or _all_memory(its),
    # MPS limits the memory and the compute of a client from Volta on.
    "GPU032": lambda its: bool(its.ask.shares) and any(each.gpus and each.capability < (7, 0) for each in its.hosts),
    # Which images but the one of Amazon Linux 2023 have the MPS service, no page says.
    "GPU030": lambda its: bool(its.ask.shares) and any(each.shares_gpus is None for each in its.hosts),
    # A fault of one client of MPS restarts the others.
    "GPU034": lambda its: len(its.ask.shares) > 1,
    # The address of a container in mode bridge exists on its own host only.
    "GPU150": lambda its: its.ask.asks("efa") and (its.mode or "bridge") == "bridge",
}
"""Warnings of a combination that can be, by the rule."""

REMARKS_ON_HOSTS: Mapping[str, Callable[[Host], bool]] = {
    # It yields to GPU032, which the shares on these hosts get.
    "GPU001": lambda host: host.is_old and host.capability >= (7, 0),
}
"""Warnings of hosts, whatever runs on them."""

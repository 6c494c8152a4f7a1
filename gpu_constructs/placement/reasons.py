"""Whether a task fits, and what stands between it and a host: shortfalls, obstacles, and doubts.

A shortfall and an obstacle are certain: ECS never places the task on such a host, or the host cannot run it. A doubt is
what is not known before the deploy; the two are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeAlias

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Unknown

_MOST_NAMES = 6


class HostResource(Enum):
    """What a host can be short of, with the unit that goes with it."""

    GPU = ("GPUs", "")
    GPU_MEMORY = ("memory per GPU", " MiB")
    CPU = ("CPU units", "")
    MEMORY = ("memory", " MiB")
    INTERFACES = ("network interfaces for tasks", "")
    SHARED_GPU_MEMORY = ("memory of one GPU, shared through MPS", " MiB")
    NEURON_DEVICES = ("Neuron devices", "")

    @property
    def label(self) -> str:
        """The words of a message."""
        return self.value[0]

    def amount(self, number: int | None) -> str:
        """A number with its unit."""
        return "an unknown amount" if number is None else f"{number}{self.value[1]}"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A resource of which the smallest host has too little.

    Attributes:
        available: What the host has at most; None where no source says, which never satisfies a need.
        instance_type: The smallest type, measured by this resource.
        note: Why the host has no more, where that can be changed.
        beside: Names of the daemons that take the rest of it.
    """

    resource: HostResource
    asked: int
    available: int | None
    instance_type: InstanceType
    note: str = ""
    beside: tuple[str, ...] = ()

    @property
    def asks(self) -> str:
        """How much of what the task asks for."""
        return f"{self.resource.label}: {self.resource.amount(self.asked)}"

    @property
    def has(self) -> str:
        """How much the host has of it, and why no more."""
        have = f"{self.instance_type} has {self.resource.amount(self.available)}{beside_daemons(self.beside)}"
        return f"{have} ({self.note})" if self.note else have

    def __str__(self) -> str:
        return f"{self.asks} asked, {self.has}"


class ObstacleKind(Enum):
    """What excludes a host that is not a matter of how much it has."""

    ARCHITECTURE = "processor architecture"
    OPERATING_SYSTEM = "operating system"
    GPU_PART = "whole GPUs and parts of one"
    SHARING = "sharing a GPU"
    NEURON = "Neuron devices"
    PORT = "ports of the host"
    LAUNCHER = "what launches the hosts"
    CONSTRAINT = "placement constraint"
    MACHINE = "machine image and agent"
    DAEMONS = "what daemons take"
    AGENT = "what agents leave out"
    ZONE = "zones of the hosts"
    NODES = "the type that the nodes of a job name"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What excludes some hosts, whatever they have.

    Attributes:
        text: Why, said of one host: ``has 0.125 of a GPU, and whole GPUs are asked``.
        instance_types: The hosts that it excludes; none where one host is asked about.
    """

    kind: ObstacleKind
    text: str
    instance_types: tuple[InstanceType, ...] = ()

    def __str__(self) -> str:
        return f"a host ({listed(self.instance_types, 'or')}) {self.text}"


class DoubtKind(Enum):
    """Why it is not known before the deploy whether a task fits."""

    DEPLOY_TIME = "a value of the task is only known at deploy time"
    HOSTS = "what the hosts are is not known"
    MEMORY = "memory near what a host has nominally"
    SMALLEST_TYPE = "only larger types have enough, and managed scaling looks at the smallest"
    SOME_TYPES = "only some types can run it, and the others may decide or come"
    CONSTRAINED_TYPES = "placement constraints exclude some types, and these may decide or come"
    CONSTRAINED_PLACES = "placement constraints exclude some zones or subnets of the hosts"
    CONSTRAINT = "a placement constraint cannot be judged"
    ENTRIES = "whether several entries for GPUs of one container add up is not documented"
    UNDOCUMENTED = "not documented"
    DAEMONS = "what daemons leave may be too little"
    AGENT = "what agents leave out is not known"


@dataclass(frozen=True, slots=True)
class Doubt:
    """What may keep a task from fitting.

    Attributes:
        fix: The smallest change after which it fits; empty where only the user can know.
        most_mib: Memory that certainly fits, where that is what it is about.
    """

    kind: DoubtKind
    text: str
    fix: str = ""
    most_mib: int | None = None

    def __str__(self) -> str:
        return f"{self.text}; {self.fix}" if self.fix else self.text


Reason: TypeAlias = Shortfall | Obstacle | Doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether one copy of a task fits, and why not.

    Attributes:
        shortfalls: Resources of which there is certainly too little.
        obstacles: What else certainly excludes it.
        doubts: Why it is not known; empty where something excludes it.
        hosts: Instance types that nothing excludes. On a pool there may be some though the answer is no, where managed
            scaling looks at a smaller type and launches none of them.
    """

    shortfalls: tuple[Shortfall, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    hosts: tuple[InstanceType, ...] = ()

    @property
    def answer(self) -> bool | Unknown:
        """Whether it fits; unknown is never taken for a fit."""
        if self.shortfalls or self.obstacles:
            return False
        return UNKNOWN if self.doubts else True

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that keeps it from a clear yes, in words."""
        return tuple(map(str, (*self.shortfalls, *self.obstacles, *self.doubts)))


def beside_daemons(names: Sequence[str]) -> str:
    """Which daemons a task is beside, as the end of a sentence; empty for none."""
    if not names:
        return ""
    return f" beside {listed(names)}, {'a daemon' if len(names) == 1 else 'daemons'} that ECS starts first"


def listed(names: Iterable[object], word: str = "and") -> str:
    """``a, b and c``, cut short where there are many."""
    texts = [str(each) for each in names]
    if len(texts) > _MOST_NAMES:
        texts = [*texts[: _MOST_NAMES - 1], f"{len(texts) - _MOST_NAMES + 1} more"]
    *before, last = texts or ["none"]
    return f"{', '.join(before)} {word} {last}" if before else last

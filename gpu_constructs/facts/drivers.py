"""Which versions of the NVIDIA driver drive which GPU: a table of GPUs and pure look-ups over it.

NVIDIA lists the GPUs that it drives with each version. A new GPU comes in the middle of a branch, and not in all
branches at once; an old one leaves with a branch, the part before the first dot: 580 of 580.178.04.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date
from typing import TypeAlias

from gpu_constructs.facts.model import Accelerators, InstanceType
from gpu_constructs.facts.values import dataclass

Version: TypeAlias = "tuple[int, ...]"
"""A version as numbers, such as (580, 178, 4) or, for all of a branch, (580,)."""

_LAST = sys.maxsize
_UNIX_LEGACY = "https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/"
_DEPRECATIONS = "NVIDIA's Unix graphics feature deprecation schedule: 580 is the last branch for Maxwell, Pascal, Volta"
_DRIVERS = "https://docs.nvidia.com/datacenter/tesla/drivers/"
_FIRST_CUDA = (
    f"{_DRIVERS}cuda-toolkit-driver-and-architecture-matrix.html (first CUDA Toolkit) and "
    "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (driver of each toolkit)"
)
_AWS_MINIMUM = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/public-nvidia-driver.html (minimum driver version)"
_OPEN_MODULES = "README of https://github.com/NVIDIA/open-gpu-kernel-modules at the tags of these versions"
_PUBLISHED = "https://developer.download.nvidia.com/compute/nvidia-driver/redist/redistrib_{}.json (its day)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """The driver versions that an image may have: one that is known, or all between two.

    Attributes:
        lowest: The oldest that it may be; empty where nothing says so.
        highest: The newest that it may be.
    """

    lowest: Version = ()
    highest: Version = (_LAST,)

    @classmethod
    def of(cls, text: str) -> Drivers:
        """One version, such as ``580.178.04``, or every version of a branch, such as ``580``."""
        version = tuple(map(int, text.split(".")))
        return cls(lowest=version, highest=(*version, _LAST) if len(version) == 1 else version)

    def __str__(self) -> str:
        low, high = shown_version(self.lowest), shown_version(self.highest)
        if self.lowest == self.highest:
            return f"driver {low}"
        if low and self.highest == (*self.lowest, _LAST):
            return f"driver branch {low}"
        if low and high:
            return f"a driver from {low} to {high}"
        return f"driver {low} or later" if low else f"driver {high} or earlier" if high else "a driver of any version"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSupport:
    """The driver versions that drive some GPUs.

    Attributes:
        architecture: NVIDIA's names for the range of compute capabilities.
        lowest: First compute capability of the range, as (major, minor).
        highest: Last compute capability of the range.
        models: The GPUs of this range that it is about, as the catalogue names them; empty for all.
        since: First version that drives them; of each branch in which they came later than in an older one, a further
            one. Empty where every version in use today is recent enough.
        without: Versions and branches between these that are known not to list them.
        certain_since: First version of which that is certain, where AWS asks for a newer one than NVIDIA.
        published: Day of the first of `since`; None where no source says it.
        last_branch: Last branch that drives them; None where no end is announced.
        certain_until: Last branch of which that is certain, where sources differ; None where they do not.
    """

    architecture: str
    lowest: tuple[int, int]
    highest: tuple[int, int]
    source: str
    models: frozenset[str] = frozenset()
    since: tuple[Version, ...] = ()
    without: tuple[Version, ...] = ()
    certain_since: Version = ()
    published: date | None = None
    last_branch: int | None = None
    certain_until: int | None = None

    def has(self, version: Version) -> bool | None:
        """Whether one version drives them; None where no source says it."""
        if self.last_branch is not None and version and version[0] > self.last_branch:
            return False
        is_late = self.certain_until is not None and version and version[0] > self.certain_until
        if is_late or (self.since and self.since[0] <= version < self.certain_since):
            return None
        if not self.since or version >= self.since[-1]:
            return True
        if version < self.since[0]:
            return False
        own = next((each for each in self.since if each[0] == version[0]), None)
        if own is not None:
            return version >= own
        return False if any(version[: len(each)] == each for each in self.without) else None

    @property
    def turns(self) -> tuple[Version, ...]:
        """The versions at which the answer may turn, besides the ends of what is asked about."""
        ends = [each for each in (self.certain_until, self.last_branch) if each is not None]
        branches = (*(each[0] for each in (*self.since, *self.without)), *ends)
        certain = [self.certain_since] if self.certain_since else []
        return (*self.since, *certain, *((each,) for each in branches), *((each + 1,) for each in branches))


def _of_model(
    model: str,
    architecture: str,
    capability: tuple[int, int],
    *since: Version,
    source: str = _OPEN_MODULES,
    without: tuple[Version, ...] = (),
    certain_since: Version = (),
    published: date | None = None,
) -> DriverSupport:
    return DriverSupport(
        architecture=architecture,
        lowest=capability,
        highest=capability,
        models=frozenset({model}),
        since=since,
        source=source,
        without=without,
        certain_since=certain_since,
        published=published,
    )


_AWS_TOO = f"{_FIRST_CUDA}; {_AWS_MINIMUM}"
_B200 = f"{_OPEN_MODULES}; {_PUBLISHED.format('570.86.15')}"
_B300 = f"{_OPEN_MODULES}; {_PUBLISHED.format('580.82.07')}"

# As of 2026-11-23. A first version is not given where only drivers before 2018 are older: Volta and what came before.
DRIVER_SUPPORT: tuple[DriverSupport, ...] = (
    DriverSupport(
        architecture="Kepler",
        lowest=(3, 0),
        highest=(3, 0),
        models=frozenset({"K520"}),
        last_branch=470,
        certain_until=367,
        source=f"{_UNIX_LEGACY} (470 is for Kepler); UNCONFIRMED for GRID boards, whose last branch may be 367",
    ),
    DriverSupport(architecture="Kepler", lowest=(3, 0), highest=(3, 7), last_branch=470, source=_UNIX_LEGACY),
    DriverSupport(
        architecture="Maxwell, Pascal, Volta", lowest=(5, 0), highest=(7, 2), last_branch=580, source=_DEPRECATIONS
    ),
    _of_model("T4g", "Turing", (7, 5), (470, 82, 1), source=_AWS_MINIMUM),  # of AWS alone, as A10G is
    DriverSupport(architecture="Turing", lowest=(7, 5), highest=(7, 5), since=((410,),), source=_FIRST_CUDA),
    _of_model("A10G", "Ampere", (8, 6), (470,), source=_AWS_MINIMUM),
    DriverSupport(architecture="Ampere", lowest=(8, 0), highest=(8, 6), since=((450,),), source=_FIRST_CUDA),
    _of_model("L4", "Ada", (8, 9), (520,), source=_AWS_TOO, certain_since=(525,)),
    _of_model("L40S", "Ada", (8, 9), (520,), source=_AWS_TOO, certain_since=(535,)),
    _of_model("H100", "Hopper", (9, 0), (520,), source=_AWS_TOO, certain_since=(530,)),
    _of_model("H200", "Hopper", (9, 0), (520,), source=_AWS_TOO, certain_since=(550,)),
    DriverSupport(architecture="Ada, Hopper", lowest=(8, 9), highest=(9, 0), since=((520,),), source=_FIRST_CUDA),
    _of_model("B200", "Blackwell", (10, 0), (570, 86, 15), source=_B200, published=date(2025, 1, 27)),
    _of_model("GB200", "Blackwell", (10, 0), (570, 133, 20)),
    _of_model("B300", "Blackwell Ultra", (10, 3), (580, 82, 7), source=_B300, published=date(2025, 9, 2)),
    # In no version of 570, though some came later.
    _of_model("RTX PRO Server 6000", "Blackwell", (12, 0), (575, 57, 8)),
    _of_model("RTX PRO 4500", "Blackwell", (12, 0), (580, 142), (595, 58, 3), without=((590, 48),)),
)


def driver_support(devices: Accelerators) -> DriverSupport | None:
    """The row of a GPU; None for one that the table does not know."""
    capability = devices.compute_capability
    if capability is None:
        return None
    return next(
        (
            row
            for row in DRIVER_SUPPORT
            if row.lowest <= capability <= row.highest and (not row.models or devices.model in row.models)
        ),
        None,
    )


def drives(drivers: Drivers, support: DriverSupport) -> bool | None:
    """Whether all versions that a driver may be drive a GPU; None if some do and others not, or no source says it."""
    inside = (each for each in support.turns if drivers.lowest < each <= drivers.highest)
    answers = {support.has(each) for each in (drivers.lowest, *inside, drivers.highest)}
    return answers.pop() if len(answers) == 1 else None


def shown_version(version: Version) -> str:
    """A version as NVIDIA writes it, such as ``580.178.04``; empty where nothing is known."""
    known = [each for each in version if each != _LAST]
    return ".".join(str(each) if place == 0 else f"{each:02}" for place, each in enumerate(known))


# https://github.com/modal-labs/modal-client/pull/2797, read on 2026-11-22; A10G and L4 also in
# https://github.com/NVIDIA/DCGM/issues/232 and https://github.com/speaches-ai/speaches/pull/438, L40S of a g6e in
# https://github.com/akash-network/provider-configs/pull/95. EC2 reports 24 and 48 * 10^9 bytes of them. Of other models
# the driver shows what EC2 reports or less, such as 15,360 MiB of a T4 of 16,384.
_MORE_THAN_REPORTED: Mapping[str, int] = {"A10G": 23_028, "L4": 23_034, "L40S": 46_068}


# What programs find, in MiB, by model and what EC2 reports: CUDA and error correction keep the rest. As read on
# 2026-11-22:
# https://github.com/Zheng-Chong/CatVTON/issues/133 (T4, 14.56 GiB; T4g is the same chip),
# https://github.com/meta-llama/llama/issues/918 (V100, 15.77),
# https://github.com/liucongg/ChatGLM-Finetuning/issues/73 (V100, 31.74),
# https://github.com/TianheWu/CoSeR/issues/10 (A100, 39.50),
# https://github.com/lianqi1008/Control-GIC/issues/6 (A100, 79.14),
# https://github.com/huggingface/trl/issues/2688 (H100, 79.10),
# https://github.com/huggingface/local-gemma/pull/25 (A10G, 22),
# https://github.com/ArcInstitute/evo2/issues/190 (L4, 22.03),
# https://github.com/QwenLM/Qwen3-VL/issues/2097 (L40, the chip of L40S, 44.40); on 2026-11-29 of an H200 with driver
# 580.159.04, whose `nvidia-smi` shows 143,771 MiB.
_SHOWN_BY_CUDA: Mapping[tuple[str, int], int] = {
    ("T4", 16_384): 14_909,
    ("T4g", 16_384): 14_909,
    ("V100", 16_384): 16_148,
    ("V100", 32_768): 32_501,
    ("A10G", 22_888): 22_528,
    ("L4", 22_888): 22_559,
    ("L40S", 45_776): 45_465,
    ("A100", 40_960): 40_448,
    ("A100", 81_920): 81_039,
    ("H100", 81_920): 80_998,
    ("H200", 144_384): 143_155,
}


def cuda_memory_mib(instance_type: InstanceType) -> int | None:
    """Memory of each GPU in MiB that programs find: as CUDA shows it where that is known, else as EC2 reports it."""
    devices, reported = instance_type.accelerators, instance_type.gpu_memory_mib
    if devices is None or reported is None or devices.is_fractional:
        return reported
    return _SHOWN_BY_CUDA.get((devices.model, reported), reported)


def gib_of(memory_mib: float) -> float:
    """Memory of a GPU in GiB, the unit in which it is asked for, rounded down to a tenth that may be asked."""
    return memory_mib * 10 // 1024 / 10


def most_gpu_memory_mib(instance_type: InstanceType) -> int | None:
    """The most that a GPU of a type can have in MiB: as EC2 reports it, or as the driver shows it; None if unknown."""
    devices, reported = instance_type.accelerators, instance_type.gpu_memory_mib
    if devices is None or reported is None or devices.is_fractional:
        return reported
    return max(reported, _MORE_THAN_REPORTED.get(devices.model, reported))

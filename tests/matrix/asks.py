"""What containers ask, what hosts there are and how these are launched.

Nothing here comes from the library's own catalogue: hosts are written down from DescribeInstanceTypes (as moto 5.2.5
recorded it) and AWS's pages of the families, read on 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from gpu_constructs import (
    GpuMachineImage,
    GpuShare,
    HostNetwork,
    ManagedStorage,
    Purchase,
)

__all__ = [
    "ASKS",
    "LANDINGS",
    "MANAGED",
    "MODES",
    "PURCHASES",
    "STORAGE",
    "WITHOUT_LOCAL_DISKS",
    "Ask",
    "Host",
    "Mode",
    "Wanted",
]

Mode = Literal["bridge", "host", "awsvpc"]
MODES: tuple[Mode | None, ...] = (None, "bridge", "host", "awsvpc")


# What is asked


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One container.

    Args:
        of: What adds it: ``gpu``, ``neuron`` or ``plain``.
        secret: Name of an environment variable that comes from a secret; none without it.
        options: Every other argument.
    """

    of: Literal["gpu", "neuron", "plain"]
    secret: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gpus(self) -> Any:
        """What it asks of GPUs, None where it asks nothing."""
        return self.options.get("gpus", 1) if self.of == "gpu" else None

    @property
    def devices(self) -> Any:
        """What it asks of Neuron devices."""
        return self.options.get("devices", "ALL") if self.of == "neuron" else None


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A task.

    Args:
        name: What it is called in reports.
        containers: In the order in which they are added.
    """

    name: str
    containers: tuple[Wanted, ...]

    @cached_property
    def shares(self) -> list[int]:
        """GPU memory in MiB of each share."""
        return [each.gpus.memory_mib for each in self.containers if isinstance(each.gpus, GpuShare)]

    @cached_property
    def parts(self) -> list[float]:
        return [each.gpus for each in self.containers if isinstance(each.gpus, float)]

    @cached_property
    def whole(self) -> int:
        """Whole GPUs of all containers; ``ALL`` counts as one, the least that it can be."""
        counts = (1 if each.gpus == "ALL" else each.gpus for each in self.containers)
        return sum(each for each in counts if isinstance(each, int))

    @cached_property
    def takes_all(self) -> bool:
        return any(each.gpus == "ALL" for each in self.containers)

    @cached_property
    def gpu_containers(self) -> int:
        return sum(each.of == "gpu" for each in self.containers)

    @cached_property
    def neuron(self) -> list[Any]:
        """Neuron devices of each container: numbers and ``ALL``."""
        return [each.devices for each in self.containers if each.of == "neuron"]

    def asks(self, option: str) -> bool:
        """Whether a container is given an argument."""
        return any(each.options.get(option) for each in self.containers)

    def largest(self, option: str, default: Any) -> Any:
        return max((each.options[option] for each in self.containers if option in each.options), default=default)


def _gpu(gpus: Any = 1, *, secret: str | None = None, **options: Any) -> Wanted:
    return Wanted(of="gpu", secret=secret, options={"gpus": gpus, **options})


def _neuron(devices: Any = "ALL") -> Wanted:
    return Wanted(of="neuron", options={"devices": devices})


def _plain(**options: Any) -> Wanted:
    return Wanted(of="plain", options={"memory_limit_mib": 128, "essential": False, **options})


def _ask(name: str, *containers: Wanted) -> Ask:
    return Ask(name=name, containers=containers)


_SHARE = GpuShare(memory_mib=4096)
_SIZED: dict[str, Any] = {"cpu": 256, "memory_mib": 512}
"""Containers that come in pairs say what they take, because the first would by default get what is left."""

ASKS: tuple[Ask, ...] = (
    _ask("one GPU", _gpu()),
    _ask("four GPUs", _gpu(4)),
    _ask("eight GPUs", _gpu(8)),
    _ask("all GPUs", _gpu("ALL")),
    _ask("two containers with a GPU each", _gpu(1, **_SIZED), _gpu(1, **_SIZED)),
    _ask("a GPU beside a sidecar", _plain(), _gpu()),
    # Of what Managed Instances refuse, one that ECS takes in every network mode; not a host name in awsvpc.
    _ask("a GPU beside a sidecar with security options", _plain(docker_security_options=["no-new-privileges"]), _gpu()),
    _ask("an eighth of a GPU", _gpu(0.125)),
    _ask("a quarter of a GPU", _gpu(0.25)),
    _ask("half a GPU", _gpu(0.5)),
    _ask("two quarters of a GPU", _gpu(0.25, **_SIZED), _gpu(0.25, **_SIZED)),
    _ask("a share", _gpu(_SHARE)),
    _ask("a share with a limit of compute", _gpu(GpuShare(memory_mib=4096, max_compute_percent=50))),
    _ask("a share of 20000 MiB", _gpu(GpuShare(memory_mib=20_000))),
    _ask("a share that no GPU has", _gpu(GpuShare(memory_mib=300_000))),
    _ask("two shares", _gpu(_SHARE, **_SIZED), _gpu(_SHARE, **_SIZED)),
    _ask("two shares of 12000 MiB", *(_gpu(GpuShare(memory_mib=12_000), **_SIZED) for _ in range(2))),
    _ask("a GPU beside a share", _gpu(_SHARE, **_SIZED), _gpu(1, **_SIZED)),
    _ask("a share beside all GPUs", _gpu("ALL", **_SIZED), _gpu(_SHARE, **_SIZED)),
    _ask("all GPUs beside one", _gpu(1, **_SIZED), _gpu("ALL", **_SIZED)),
    _ask("one GPU beside all", _gpu("ALL", **_SIZED), _gpu(1, **_SIZED)),
    _ask("40 GiB of GPU memory", _gpu(gpu_memory_gib=40)),
    _ask("four GPUs with 20 GiB each", _gpu(4, gpu_memory_gib=20)),
    _ask("fp8", _gpu(precision="fp8")),
    _ask("bf16", _gpu(precision="bf16")),
    _ask("compute capability 7.5", _gpu(min_compute_capability=(7, 5))),
    _ask("compute capability 9.0", _gpu(min_compute_capability=(9, 0))),
    _ask("NVLink", _gpu(4, nvlink=True)),
    _ask("NVLink of a share", _gpu(_SHARE, nvlink=True)),
    _ask("shared memory", _gpu(shared_memory_mib=1024)),
    _ask("the GPUs by name", _gpu(environment={"NVIDIA_VISIBLE_DEVICES": "all"})),
    _ask("the GPUs by a secret", _gpu(secret="NVIDIA_VISIBLE_DEVICES")),  # noqa: S106 - the name of one
    _ask("EFA", _gpu("ALL", efa=True)),
    _ask("all Neuron devices", _neuron()),
    _ask("one Neuron device", _neuron(1)),
    _ask("two Neuron devices", _neuron(2)),
    _ask(
        "two containers with a Neuron device each",
        *(Wanted(of="neuron", options={"devices": 1, **_SIZED}) for _ in range(2)),
    ),
    _ask(
        "all Neuron devices beside one",
        *(Wanted(of="neuron", options={"devices": devices, **_SIZED}) for devices in (1, "ALL")),
    ),
    _ask("a GPU beside a Neuron device", Wanted(of="neuron", options={"devices": "ALL", **_SIZED}), _gpu(1, **_SIZED)),
)


# Where it runs


@dataclass(frozen=True, kw_only=True, eq=False)
class Host:
    """Hosts of one capacity, by what the largest of them has.

    Args:
        name: What they are called in reports.
        arguments: What defines them.
        is_managed: Whether they are ECS Managed Instances, else an Auto Scaling group launches them.
        is_arm: Whether their architecture is arm64.
        gpus: Whole NVIDIA GPUs.
        part: Part of an NVIDIA GPU, where that is all there is.
        gpu_memory_mib: Memory of each GPU, as EC2 reports it.
        capability: CUDA compute capability.
        has_nvlink: Whether NVLink joins their GPUs.
        neuron: Neuron devices.
        adapters: Elastic Fabric Adapters that they are launched with.
        shares_gpus: Whether their image shares GPUs; None where no page says.
        is_old: Whether AWS's own list of offerings of 2026 has the type nowhere.
    """

    name: str
    arguments: Mapping[str, Any]
    is_managed: bool = False
    is_arm: bool = False
    gpus: int = 0
    part: float = 0
    gpu_memory_mib: int = 0
    capability: tuple[int, int] = (0, 0)
    has_nvlink: bool = False
    neuron: int = 0
    adapters: int = 0
    shares_gpus: bool | None = True
    is_old: bool = False


def _host(*types: str, name: str | None = None, managed: bool = False, **facts: Any) -> Host:
    arguments = {"instance_types": list(types), **({} if managed else {"max_instances": 200}), **facts.pop("more", {})}
    told = name or ", ".join(types)
    return Host(name=f"managed {told}" if managed else told, arguments=arguments, is_managed=managed, **facts)


_L4: dict[str, Any] = {"gpu_memory_mib": 22_888, "capability": (8, 9)}
_H100: dict[str, Any] = {"gpus": 8, "gpu_memory_mib": 81_920, "capability": (9, 0), "has_nvlink": True}
_QUARTER: dict[str, Any] = {"part": 0.25, "gpu_memory_mib": 5_722, "capability": (8, 9)}
_BEFORE_SHARING = "al2023-ami-ecs-gpu-hvm-2023.0.20260708-kernel-6.1-x86_64-ebs"
_BOTTLEROCKET = GpuMachineImage.pinned("bottlerocket-ecs-3-nvidia-x86_64", "1.66.0")

_G6 = _host("g6.xlarge", gpus=1, **_L4)
_G6_12 = _host("g6.12xlarge", gpus=4, **_L4)
_G6F = _host("g6f.2xlarge", **_QUARTER)
_P5 = _host("p5.48xlarge", **_H100)
_P5_EFA = _host("p5.48xlarge", name="p5.48xlarge with EFA", adapters=32, more={"network": HostNetwork.efa()}, **_H100)
_G5G = _host("g5g.xlarge", is_arm=True, gpus=1, gpu_memory_mib=16_384, capability=(7, 5), shares_gpus=None)
_BOTTLEROCKET_G6 = _host(
    "g6.xlarge", name="g6.xlarge on Bottlerocket", gpus=1, shares_gpus=None, more={"image": _BOTTLEROCKET}, **_L4
)
_OLD_IMAGE = _host(
    "g6.xlarge",
    name="g6.xlarge on an image before sharing",
    gpus=1,
    shares_gpus=False,
    more={"image": GpuMachineImage.pinned("al2023-gpu", _BEFORE_SHARING)},
    **_L4,
)
_T4 = _host("g4dn.xlarge", gpus=1, gpu_memory_mib=16_384, capability=(7, 5))
_V100 = _host("p3.8xlarge", gpus=4, gpu_memory_mib=16_384, capability=(7, 0), has_nvlink=True, is_old=True)
_M60 = _host("g3s.xlarge", gpus=1, gpu_memory_mib=8_192, capability=(5, 2), is_old=True)
_INF2 = _host("inf2.xlarge", neuron=1)
_TRN1 = _host("trn1.32xlarge", neuron=16)
_CPU = _host("c7i.2xlarge")

_MANAGED_G6 = _host("g6.xlarge", "g6.12xlarge", managed=True, gpus=4, **_L4)
_MANAGED_G6F = _host("g6f.2xlarge", managed=True, **_QUARTER)
_MANAGED_P5 = _host("p5.48xlarge", managed=True, **_H100)
_MANAGED_INF2 = _host("inf2.xlarge", managed=True, neuron=1)
LANDINGS: tuple[tuple[Host, ...], ...] = (
    *((each,) for each in (_G6, _G6_12, _G6F, _P5, _P5_EFA, _G5G, _BOTTLEROCKET_G6, _OLD_IMAGE)),
    *((each,) for each in (_T4, _V100, _M60, _INF2, _TRN1, _CPU)),
    *((each,) for each in (_MANAGED_G6, _MANAGED_G6F, _MANAGED_P5, _MANAGED_INF2)),
    # Tasks that can move.
    (_G6_12, _MANAGED_G6),
    (_G6F, _MANAGED_G6F),
    (_P5_EFA, _MANAGED_P5),
    (_OLD_IMAGE, _MANAGED_G6),
    (_INF2, _MANAGED_INF2),
    (_TRN1, _MANAGED_INF2),
    (_G5G, _MANAGED_G6),
    (_CPU, _MANAGED_G6),
)


# How Managed Instances are bought, and where they keep their data

_GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/matrix"

MANAGED: tuple[Host, ...] = (_MANAGED_G6, _MANAGED_G6F, _MANAGED_P5, _MANAGED_INF2)

PURCHASES: Mapping[str, Purchase] = {
    "on demand": Purchase.on_demand(),
    "spot": Purchase.spot(),
    "reserved": Purchase.reservations(resource_group_arn=_GROUP, only=True),
    "reserved, then on demand": Purchase.reservations(resource_group_arn=_GROUP),
}

STORAGE: Mapping[str, ManagedStorage | None] = {
    "default storage": None,
    "a large volume": ManagedStorage(volume_gib=2_000),
    "local disks": ManagedStorage(local_disks=True),
}

WITHOUT_LOCAL_DISKS: tuple[Host, ...] = (_MANAGED_INF2,)
"""Those of `MANAGED` whose types have no instance store (the table of Inf2 at https://aws.amazon.com/ec2/instance-types/)."""

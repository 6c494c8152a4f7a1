"""The frozen values that describe hardware: one instance type, its accelerators, its network, its quotas.

Names and units follow DescribeInstanceTypes (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html).
Nothing here knows where the data comes from; that is `catalogue`.
"""

from __future__ import annotations

import re

from gpu_constructs.facts.values import StrEnum, dataclass

_GIGABIT = r"(?:([0-9]+)x )?([0-9.]+) Gigabit"  # `4x 100 Gigabit` is four cards


class Architecture(StrEnum):
    """Processor architecture, as EC2 and the ECS attribute ``ecs.cpu-architecture`` spell it."""

    X86_64 = "x86_64"
    ARM64 = "arm64"


class Vendor(StrEnum):
    """Who makes the accelerator, which decides its driver, its AMI and how ECS hands it to a container.

    Only `NVIDIA` devices are ECS ``GPU`` resources
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html).
    """

    NVIDIA = "nvidia"
    AMD = "amd"
    NEURON = "neuron"
    GAUDI = "gaudi"
    QUALCOMM = "qualcomm"
    XILINX = "xilinx"


class PurchaseClass(StrEnum):
    """How an instance type may be bought: ``SupportedUsageClasses`` of DescribeInstanceTypes."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerators:
    """The accelerators of one instance type, all alike.

    Attributes:
        model: The maker's model name, such as ``L4``.
        count: Whole devices; 0 on a fractional type such as g6f.large.
        logical_count: Devices that the operating system sees; 1 on g6f.large.
        partition: The part of a whole device that one logical device is: 1.0, or 0.125 on g6f.large.
        memory_mib: Memory of one logical device in MiB as the API reports it, or corrected; None if unknown.
        generation: The maker's architecture name, such as ``Ada``; None outside NVIDIA.
        compute_capability: CUDA compute capability as (major, minor); None outside NVIDIA.
        interconnect: What joins the devices of one host, such as ``NVSwitch 900GB/s`` or ``PCIe``, which a single
            device has too; None if unknown.
        cores: Neuron cores of one device; None outside Neuron.
    """

    vendor: Vendor
    model: str
    count: int
    logical_count: int
    partition: float = 1.0
    memory_mib: int | None = None
    generation: str | None = None
    compute_capability: tuple[int, int] | None = None
    interconnect: str | None = None
    cores: int | None = None

    @property
    def is_fractional(self) -> bool:
        """Whether a device is only a part of a GPU, as on G6f and Gr6f."""
        return self.partition < 1

    @property
    def has_nvlink(self) -> bool | None:
        """Whether NVLink joins the devices of one host; None if unknown."""
        return None if self.interconnect is None else "NV" in self.interconnect

    @property
    def total_memory_mib(self) -> int | None:
        """Memory of all devices together in MiB, None if unknown."""
        return None if self.memory_mib is None else self.memory_mib * self.logical_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Network interfaces of one instance type; None is not known.

    Attributes:
        performance: The bandwidth as AWS prints it, such as ``Up to 25 Gigabit``.
        max_interfaces: Elastic network interfaces over all cards.
        efa_cards: Indexes of the cards that take an EFA interface.
        efa_only_cards: Indexes of the cards that take an interface of type ``efa-only``.
        device_rdma: Whether EFA is known to read and write the memory of the accelerators directly (GPUDirect RDMA and
            its like on Neuron).
    """

    performance: str | None = None
    cards: int | None = None
    max_interfaces: int | None = None
    max_interfaces_card_0: int | None = None
    efa_supported: bool | None = None
    max_efa_interfaces: int | None = None
    efa_cards: tuple[int, ...] = ()
    efa_only_cards: tuple[int, ...] = ()
    device_rdma: bool = False

    @property
    def gbps(self) -> float | None:
        """The bandwidth in Gbit/s, bursts where it is ``Up to 25 Gigabit``; None without a number, as ``Moderate``."""
        found = re.search(_GIGABIT, self.performance or "")
        return None if found is None else int(found[1] or 1) * float(found[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDisk:
    """A kind of local disk: so many of this size."""

    count: int
    size_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The account quotas that an instance type counts against; all are vCPUs and belong to service ``ec2``.

    Attributes:
        group: The group that AWS names, such as ``G/VT``.
        on_demand_code: Quota code of running On-Demand instances.
        spot_code: Quota code of Spot requests; None if unknown.
        spot_note: Why the Spot code is in doubt; None where it is not.
    """

    group: str
    on_demand_code: str
    spot_code: str | None
    spot_note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTraits:
    """What AWS says about a whole family and no API; the meaning and the source of each are in the curated data.

    Attributes:
        released_after_2022: Whether launch configurations refuse it; None if unknown, as of every general family.
        managed_instances: Whether ECS Managed Instances are known to launch it; None without accelerators, of which
            they launch nearly all.
        managed_doubt: Why it is in doubt that they do; None without a doubt.
        unsupported_by_batch: Whether AWS Batch lists it as unsupported on its Amazon Linux 2023 GPU image.
        offering_doubt: Why an account may still get it although no recorded region offers it; None without a doubt.
        driven_instead: A type that an ECS image drives, for users of a family that none drives; None if not needed.
    """

    released_after_2022: bool | None = None
    managed_instances: bool | None = None
    managed_doubt: str | None = None
    unsupported_by_batch: bool = False
    offering_doubt: str | None = None
    driven_instead: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One EC2 instance type; ``str()`` of it is its AWS name.

    Attributes:
        name: The name AWS prints, such as ``g6.xlarge``.
        vcpus: Default vCPUs.
        memory_mib: Nominal memory in MiB; a host registers less with ECS, see `gpu_constructs.placement`.
        accelerators: What it has besides the CPU; None on a general-purpose type.
        local_disks: Its instance store, empty if it has none or, on a type with `regions` empty, unknown.
        purchase_classes: How it may be bought; empty if unknown.
        regions: Regions that offer it in the recorded data; empty for a type that none of them offers.
        quota: The account quotas it counts against; None if unknown.
        current_generation: AWS's own flag; None if unknown.
        burstable: Whether its CPU performance is burstable, as that of the T families.
        note: What a user should know before choosing it; None if there is nothing.
        replaced_by: The type to move to from a previous generation: at least as many devices, each with at least as
            much memory, vCPUs and host memory aside; None where it is not superseded or no type has as many.
        declared: Whether a user declared it, so that no data has it; see `gpu_constructs.facts.declared`.
    """

    name: str
    vcpus: int
    memory_mib: int
    architecture: Architecture
    accelerators: Accelerators | None
    network: Network
    local_disks: tuple[LocalDisk, ...]
    purchase_classes: tuple[PurchaseClass, ...]
    regions: tuple[str, ...]
    quota: Quota | None
    current_generation: bool | None
    bare_metal: bool
    burstable: bool = False
    traits: FamilyTraits = FamilyTraits()
    note: str | None = None
    replaced_by: str | None = None
    declared: bool = False

    def __hash__(self) -> int:
        # A name stands for one type; hashing forty fields is what makes a set of types slow.
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @property
    def family(self) -> str:
        """The part of the name before the dot: ``p6-b200`` of ``p6-b200.48xlarge``."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """The part of the name after the dot: ``48xlarge`` of ``p6-b200.48xlarge``."""
        return self.name.partition(".")[2]

    @property
    def vendor(self) -> Vendor | None:
        """Who makes its accelerators; None on a general-purpose type."""
        return None if self.accelerators is None else self.accelerators.vendor

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """CUDA compute capability of its GPUs as (major, minor); None without NVIDIA GPUs or if unknown."""
        return None if self.accelerators is None else self.accelerators.compute_capability

    @property
    def is_fractional(self) -> bool:
        """Whether it has only a part of a GPU."""
        return self.accelerators is not None and self.accelerators.is_fractional

    @property
    def gpus(self) -> int:
        """Whole NVIDIA GPUs that ECS can hand to containers; 0 on every other type."""
        devices = self.accelerators
        return devices.count if devices is not None and devices.vendor is Vendor.NVIDIA else 0

    @property
    def gpu_memory_mib(self) -> int | None:
        """Memory of one NVIDIA GPU in MiB as the API reports it; None without NVIDIA GPUs or if unknown."""
        devices = self.accelerators
        return devices.memory_mib if devices is not None and devices.vendor is Vendor.NVIDIA else None

    @property
    def local_storage_gb(self) -> int:
        """Size of the whole instance store in GB, 0 without one."""
        return sum(disk.count * disk.size_gb for disk in self.local_disks)

    @property
    def is_offered_anywhere(self) -> bool:
        """Whether any region offered it when the catalogue was recorded, or a user says that there is such a type."""
        return bool(self.regions) or self.declared

    @property
    def label(self) -> str:
        """Its name in reports, followed by ``(declared)`` if a user declared it."""
        return f"{self.name} (declared)" if self.declared else self.name

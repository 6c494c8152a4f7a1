"""What a capacity is asked to be, as its user says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from aws_cdk import aws_ec2 as ec2
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import of_kind
from gpu_constructs.cdk.calls import require_construct_id
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cluster.capacity.boot_check import GpuCount
from gpu_constructs.cluster.capacity.images import GpuMachineImage
from gpu_constructs.cluster.capacity.network import HostNetwork
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.capacity.scaling import HostScaling
from gpu_constructs.cluster.capacity.storage import HostStorage


class CapacityOptions(TypedDict, total=False):
    """Arguments that `GpuCluster.add_capacity`, `GpuCluster.add_family` and `CapacityChoice` share.

    Attributes:
        min_instances: Hosts that are always there. By default none.
        image: The machine image. By default the ECS image that drives the types, pinned to the newest release that
            this version of the library knows.
        purchase: How the hosts are bought. By default on demand.
        scaling: How hosts come and leave. By default as the tasks want them, none kept prepared, none protected.
        storage: Where hosts keep images and scratch data. By default on an encrypted gp3 volume of 100 GiB.
        network: How the hosts are connected. By default by one plain interface; with EFA for work over many.
        check_gpus_at_boot: Whether a host that finds fewer GPUs than its type has is replaced before it gets a task,
            with an alarm, `GpuCapacity.boot_check`. On Amazon Linux 2023, with a way to the endpoints of Auto Scaling
            and CloudWatch. By default not.
        vpc_subnets: Subnets of these hosts. By default those of the cluster.
    """

    min_instances: int
    image: GpuMachineImage | None
    purchase: Purchase | None
    scaling: HostScaling | None
    storage: HostStorage | None
    network: HostNetwork | None
    check_gpus_at_boot: bool
    vpc_subnets: ec2.SubnetSelection | None


@with_names_checked
@dataclass(frozen=True, slots=True)
class CapacityChoice:
    """One capacity of `GpuCluster.add_fallback`; the arguments are those of `GpuCluster.add_capacity`.

    Args:
        construct_id: Its id after that of the order: ``H100-Reserved`` for ``Reserved`` in ``H100``. Ids, not places in
            the order, name the resources, so that an order can change without replacing anything.
    """

    construct_id: str
    _: KW_ONLY
    instance_types: Sequence[str]
    max_instances: int
    min_instances: int = 0
    image: GpuMachineImage | None = None
    purchase: Purchase | None = None
    scaling: HostScaling | None = None
    storage: HostStorage | None = None
    network: HostNetwork | None = None
    check_gpus_at_boot: bool = False
    vpc_subnets: ec2.SubnetSelection | None = None
    capacity_provider_name: str | None = None

    def __post_init__(self) -> None:
        """Refuses what no construct id ends with.

        Raises:
            InvalidValueError: The id is not text, empty, or only known at deploy time.
        """
        require_construct_id(self.construct_id)

    def parts(self) -> tuple[Purchase, HostScaling, HostStorage, HostNetwork, GpuCount]:
        """Its parts, the defaults in place of those that were left out; what one needs to know of others comes before.

        Raises:
            InvalidValueError: An argument is something else than its part.
        """
        return (
            of_kind("purchase", self.purchase, Purchase, example="Purchase.spot()"),
            of_kind("scaling", self.scaling, HostScaling, example="HostScaling(instance_warmup_seconds=600)"),
            of_kind("storage", self.storage, HostStorage, example="HostStorage(root_volume_gib=200)"),
            of_kind("network", self.network, HostNetwork, example="HostNetwork.efa()"),
            GpuCount(self.check_gpus_at_boot),
        )

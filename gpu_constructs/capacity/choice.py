"""What a capacity is asked to be, as its user says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from aws_cdk import aws_ec2 as ec2

from gpu_constructs.capacity.images import GpuMachineImage
from gpu_constructs.capacity.network import HostNetwork
from gpu_constructs.capacity.purchase import Purchase
from gpu_constructs.capacity.scaling import HostScaling
from gpu_constructs.capacity.storage import HostStorage
from gpu_constructs.cdk.atomic import require_construct_id

__all__ = ["CapacityChoice"]


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

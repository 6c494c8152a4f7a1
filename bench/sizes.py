"""The apps that are measured, with everything looked up that a person would type by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from bench.workloads import Hosts, Reference, Share, Workload
from gpu_constructs.cluster.capacity.user_data import attributes_set, host_attributes
from gpu_constructs.facts import InstanceType, default_image, instance_type
from gpu_constructs.fleet import HostImage
from gpu_constructs.placement.pool_profile import share_of

__all__ = ["WORKLOADS", "hosts_of", "reference"]

# Capacity providers per cluster, not adjustable
# (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-quotas.html).
_FULL = 20


def hosts_of(*names: str, shares: tuple[Share, ...] | None = None) -> Hosts:
    """Hosts of these types.

    Args:
        *names: Their names.
        shares: What containers get of a host; by default what goes with each number of GPUs.
    """
    types = [instance_type(each) for each in names]
    image = default_image(types[0])
    return Hosts(
        instance_types=names,
        gpus=types[0].gpus,
        image_parameter=HostImage(image=image, release=image.known_release).ssm_parameter,
        device=image.image_device,
        attributes=attributes_set(host_attributes(types))["ECS_INSTANCE_ATTRIBUTES"],
        shares=shares or tuple(_share(types, gpus) for gpus in range(1, types[0].gpus + 1)),
    )


def _share(types: list[InstanceType], gpus: int) -> Share:
    share = share_of({each: Fraction(gpus, each.gpus) for each in types})
    return Share(cpu=share.cpu, memory_mib=share.memory_mib, shared_memory_mib=min(share.memory_mib // 2, 65536))


def reference(name: str, *gpu_instance_types: str) -> Workload:
    """The reference stack on GPU hosts of these types."""
    return Workload(
        name, reference=Reference(cpu_hosts=hosts_of("c7i.2xlarge"), gpu_hosts=hosts_of(*gpu_instance_types))
    )


# One GPU, another family, several types of one shape, several GPUs, eight GPUs.
_MIX = (
    hosts_of("g6.xlarge"),
    hosts_of("g5.2xlarge"),
    hosts_of("g6e.xlarge", "g6e.2xlarge"),
    hosts_of("g4dn.12xlarge"),
    hosts_of("p5.48xlarge"),
)

WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        each.name: each
        for each in (
            reference("tensorflow-benchmark", "g6.xlarge"),
            reference("the same, 8 GPUs", "g6.48xlarge"),
            Workload("1 capacity", clusters=((1,),), hosts=_MIX),
            Workload("10 capacities", clusters=((10,),), hosts=_MIX),
            Workload("40 capacities", clusters=((_FULL, _FULL),), hosts=_MIX),
            Workload("100 over 5 stacks", clusters=((_FULL,),) * 5, hosts=_MIX),
        )
    }
)
"""By name. All of them deploy: no cluster has more providers than ECS takes, no stack more than 500 resources, and
several stacks share one VPC, of which a region has 5 by default."""

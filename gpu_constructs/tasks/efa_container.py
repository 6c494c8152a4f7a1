"""What a container gets that talks to containers on other hosts through Elastic Fabric Adapters.

Its task is best in network mode ``host``: ranks connect over the address of their host. ``awsvpc`` works at the price
of an interface for each task; in ``bridge`` they have no address that another host can reach (GPU150).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import Pool
from gpu_constructs.fleet.efa import efa_layout


def efa_devices(pools: Sequence[Pool]) -> tuple[str, ...]:
    """Paths of the devices that a container gets on the hosts of all these pools, the same on both sides.

    Each adapter of a host is one device, and a container that is given one its host does not have does not start.

    Raises:
        IncompatibleError: A pool's hosts have no EFA, or two pools' hosts have different numbers of them.
    """
    by_number: dict[int, list[str]] = {}
    for pool in pools:
        number = sum(each.is_efa for each in pool.interfaces)
        if number == 0:
            raise IncompatibleError(
                f"the hosts of {pool.name} have no Elastic Fabric Adapter",
                argument="efa",
                value=pool.name,
                fix=_with_efa(pool),
            )
        by_number.setdefault(number, []).append(pool.name)
    if len(by_number) > 1:
        sides = ", ".join(f"{', '.join(names)}: {number}" for number, names in by_number.items())
        raise IncompatibleError(
            f"a task definition lists its devices once, and the hosts of its capacities have different numbers of "
            f"Elastic Fabric Adapters ({sides})",
            argument="efa",
            value=[pool.name for pool in pools],
            fix="one task definition for each number",
        )
    return tuple(f"/dev/infiniband/uverbs{index}" for number in by_number for index in range(number))


def efa_variables(pools: Sequence[Pool]) -> dict[str, str]:
    """Environment variables that a container gets with the devices; what the user gives goes before them.

    None of NCCL's own: its defaults pass over the loopback and Docker interfaces, which leaves the one that carries IP,
    and AWS's plugin sets the rest for each instance type.
    """
    # FI_PROVIDER: libfabric goes to TCP in silence where it finds no EFA. FI_EFA_USE_DEVICE_RDMA=1: libfabric before
    # 1.18 leaves RDMA off without it, and any libfabric aborts the process with it where the device has none, so it is
    # left out where a type is not known to have it (fi_efa(7), https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html
    # and github.com/aws-samples/awsome-distributed-training 1.architectures/efa-cheatsheet.md, read 2026-11-21).
    everywhere = all(
        pool.types_are_known and all(each.network.device_rdma for each in pool.instance_types) for pool in pools
    )
    return {**({"FI_EFA_USE_DEVICE_RDMA": "1"} if everywhere else {}), "FI_PROVIDER": "efa"}


def _with_efa(pool: Pool) -> str:
    if any(efa_layout(each) for each in pool.instance_types):
        return "the capacity with network=HostNetwork.efa()"
    types = ", ".join(each.name for each in pool.instance_types) or pool.name
    return f"capacity of a type with EFA, such as p5en.48xlarge, with network=HostNetwork.efa(): {types} has none"

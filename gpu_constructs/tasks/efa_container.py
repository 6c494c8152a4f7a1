"""What a container gets that talks to containers on other hosts through Elastic Fabric Adapters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import Pool
from gpu_constructs.fleet.efa import efa_layout, has_device_rdma

__all__ = ["DEVICE_PERMISSIONS", "NETWORK_MODE", "EfaContainer", "plan_efa"]

DEVICE_PERMISSIONS = ("read", "write", "mknod")
"""What a container may do with each device (https://docs.aws.amazon.com/batch/latest/userguide/efa.html)."""

NETWORK_MODE = "host"
"""The network mode to choose: ranks connect over the address of their host; ``awsvpc`` works at the price of an
interface for each task. In ``bridge`` they have no address that another host can reach (GPU150)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EfaContainer:
    """What a container gets that uses EFA.

    Attributes:
        devices: Paths of the devices, the same on the host and in the container, with `DEVICE_PERMISSIONS`.
        environment: Environment variables in order of name; what the user gives goes before them. None of NCCL's own:
            its defaults pass over the loopback and Docker interfaces, which leaves the one that carries IP, and AWS's
            plugin sets the rest for each instance type.
    """

    devices: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def plan_efa(pools: Sequence[Pool], *, argument: str = "efa") -> EfaContainer:
    """What a container gets on the hosts of all these pools.

    Each adapter of a host is one device, and a container that is given one its host does not have does not start.

    Args:
        pools: Where the task may run.
        argument: The argument that asked for EFA, for the error.

    Raises:
        IncompatibleError: A pool's hosts have no EFA, or two pools' hosts have different numbers of them.
    """
    by_number: dict[int, list[str]] = {}
    for pool in pools:
        number = sum(each.is_efa for each in pool.interfaces)
        if number == 0:
            raise IncompatibleError(
                f"the hosts of {pool.name} have no Elastic Fabric Adapter",
                argument=argument,
                value=pool.name,
                fix=_with_efa(pool),
            )
        by_number.setdefault(number, []).append(pool.name)
    if len(by_number) > 1:
        sides = ", ".join(f"{', '.join(names)}: {number}" for number, names in by_number.items())
        raise IncompatibleError(
            f"a task definition lists its devices once, and the hosts of its capacities have different numbers of "
            f"Elastic Fabric Adapters ({sides})",
            argument=argument,
            value=[pool.name for pool in pools],
            fix="one task definition for each number",
        )
    return EfaContainer(
        devices=tuple(f"/dev/infiniband/uverbs{index}" for number in by_number for index in range(number)),
        environment=_environment(pools),
    )


def _environment(pools: Sequence[Pool]) -> tuple[tuple[str, str], ...]:
    # FI_PROVIDER: libfabric goes to TCP in silence where it finds no EFA. FI_EFA_USE_DEVICE_RDMA=1: libfabric before
    # 1.18 leaves RDMA off without it, and any libfabric aborts the process with it where the device has none, so it is
    # left out where a type is not known to have it (fi_efa(7), https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html
    # and github.com/aws-samples/awsome-distributed-training 1.architectures/efa-cheatsheet.md, read 2026-11-21).
    everywhere = all(
        pool.types_are_known and all(has_device_rdma(each) for each in pool.instance_types) for pool in pools
    )
    return ((("FI_EFA_USE_DEVICE_RDMA", "1"),) if everywhere else ()) + (("FI_PROVIDER", "efa"),)


def _with_efa(pool: Pool) -> str:
    if any(efa_layout(each) for each in pool.instance_types):
        return "add_capacity with network=HostNetwork.efa()"
    types = ", ".join(each.name for each in pool.instance_types) or pool.name
    return f"capacity of a type with EFA, such as p5en.48xlarge, with network=HostNetwork.efa(): {types} has none"

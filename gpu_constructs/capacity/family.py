"""Every GPU shape of a family of instance types, each with its own capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu_constructs.capacity.choice import CapacityChoice
from gpu_constructs.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.capacity.plan import CapacityPlan, plan_capacity
from gpu_constructs.capacity.purchase import Purchase
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named
from gpu_constructs.fleet import Shape
from gpu_constructs.hardware import family as types_of_family
from gpu_constructs.hosts.cluster_hosts import ClusterHosts


class FamilyCapacity(Mapping[float, GpuCapacity]):
    """The capacities of one family, by the number of GPUs of a host: ``family[8]``.

    Fractional hosts are found by their part of a GPU: ``cluster.add_family("g6f", …)[0.125]``. Iterates from the
    smallest hosts to the largest.
    """

    def __init__(self, capacities: Mapping[float, GpuCapacity]) -> None:
        self._capacities = dict(sorted(capacities.items()))

    def __getitem__(self, gpus: float) -> GpuCapacity:
        if gpus not in self._capacities:
            sizes = ", ".join(f"{size:g}" for size in self._capacities)
            raise KeyError(f"this family has no hosts with {gpus} GPUs; it has hosts with {sizes}")
        return self._capacities[gpus]

    def __iter__(self) -> Iterator[float]:
        return iter(self._capacities)

    def __len__(self) -> int:
        return len(self._capacities)


def plan_family(family: str, choice: CapacityChoice, hosts: ClusterHosts) -> dict[float, CapacityPlan]:
    """Checks everything about the capacities of a family that can be seen before a resource exists.

    Args:
        family: A family of instance types.
        choice: What the capacity of each shape is asked to be; its id and types are those of the family.
        hosts: What the hosts of the cluster share.

    Returns:
        A plan for each shape, by the number or the part of a GPU that a host has.

    Raises:
        UnknownNameError: There is no such family.
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: The capacities cannot be made.
    """
    with argument_named("family"):
        types = types_of_family(family)
    if any(each.accelerators is None for each in types):
        raise InvalidValueError(
            f"{family} has no accelerators, so its types have no GPU shape",
            argument="family",
            value=family,
            fix="add_capacity with the types that you want",
        )
    by_shape: dict[Shape, list[str]] = {}
    for each in types:
        by_shape.setdefault(Shape.of(each), []).append(each.name)
    purchase = choice.purchase
    if len(by_shape) > 1 and isinstance(purchase, Purchase) and purchase.is_of_one_type:
        raise IncompatibleError(
            f"a reservation is of one instance type, and {family} has {len(by_shape)} shapes",
            argument="purchase",
            value=purchase.target,
            fix="add_capacity with the type of the reservation",
        )
    plans = {
        _size_of(shape): plan_capacity(
            replace(choice, construct_id=f"{family}-{_size_of(shape):g}", instance_types=names), hosts
        )
        for shape, names in by_shape.items()
    }
    hosts.association.require_free(None)
    return plans


def _size_of(shape: Shape) -> float:
    return shape.count if shape.partition == 1 else shape.partition

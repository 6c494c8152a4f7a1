"""Several capacities made together: one for each GPU shape of a family, or an order to fill them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_constructs.cdk.calls import require_construct_id
from gpu_constructs.cluster.capacity.plan import CapacityChoice, CapacityPlan, another, plan_capacity
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, unexpected
from gpu_constructs.facts import Architecture
from gpu_constructs.facts import family as types_of_family
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Shape


def plan_family(family: str, choice: CapacityChoice, hosts: ClusterHosts) -> dict[float, CapacityPlan]:
    """Checks everything about the capacities of a family that can be seen before a resource exists."""
    with argument_named("family"):
        types = types_of_family(family)
    if any(each.accelerators is None for each in types):
        raise InvalidValueError(
            f"{family} has no accelerators, so its types have no GPU shape",
            argument="family",
            value=family,
            fix="add_capacity with the types that you want",
        )
    by_shape = grouped((Shape.of(each), each.name) for each in types)
    purchase = choice.options.get("purchase")
    if len(by_shape) > 1 and isinstance(purchase, Purchase) and purchase.is_of_one_type:
        raise IncompatibleError(
            f"a reservation is of one instance type, and {family} has {len(by_shape)} shapes",
            argument="purchase",
            value=purchase.target,
            fix="add_capacity with the type of the reservation",
        )
    plans = {
        _size_of(shape): plan_capacity(another(choice, f"{family}-{_size_of(shape):g}", names), hosts)
        for shape, names in by_shape.items()
    }
    hosts.association.require_free(None)
    return plans


def _size_of(shape: Shape) -> float:
    return shape.count if shape.partition == 1 else shape.partition


def plan_order(construct_id: str, order: Sequence[CapacityChoice], hosts: ClusterHosts) -> list[CapacityPlan]:
    """Checks everything about an order that can be seen before a resource exists."""
    require_construct_id(construct_id)
    _require_choices(order)
    plans = [
        plan_capacity(another(each, f"{construct_id}-{each.construct_id}", each.instance_types), hosts)
        for each in order
    ]
    found: dict[Architecture, str] = {}
    for plan in plans:
        if plan.pool.shape is not None:
            found.setdefault(plan.pool.shape.architecture, plan.pool.name)
    if len(found) > 1:
        both = " and ".join(f"{architecture} ({name})" for architecture, name in found.items())
        raise IncompatibleError(
            f"a task runs on processors of one architecture, and the order has {both}",
            argument="order",
            value=[plan.pool.name for plan in plans],
            fix="an order for each architecture",
        )
    for plan in plans:
        hosts.association.require_free(plan.capacity_provider_name)
    return [replace(plans[0], comes_first=True), *plans[1:]]


def _require_choices(order: Sequence[CapacityChoice]) -> None:
    is_list = isinstance(order, Sequence) and not isinstance(order, str)
    if not is_list or not all(isinstance(each, CapacityChoice) for each in order):
        raise unexpected(
            "order",
            order,
            "a list of choices",
            fix="order=[CapacityChoice('Reserved', …), CapacityChoice('OnDemand', …)]",
        )
    ids = [each.construct_id for each in order]
    names = [each.capacity_provider_name for each in order if each.capacity_provider_name is not None]
    if len(ids) > 1 and len(set(ids)) == len(ids) and len(set(map(str, names))) == len(names):
        return
    raise InvalidValueError(
        f"got {len(order)} choices, {len(set(ids))} of them different",
        argument="order",
        value=ids,
        allowed="two choices or more, with different ids, and different provider names if any",
        fix="add_capacity for one alone",
    )

"""Ports of load balancers and priorities of listeners that services of this app have, which CDK does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from gpu_constructs.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aws_cdk import aws_elasticloadbalancingv2 as elbv2

_PORTS: WeakKeyDictionary[elbv2.IApplicationLoadBalancer, frozenset[int]] = WeakKeyDictionary()
_PRIORITIES: WeakKeyDictionary[elbv2.IApplicationListener, frozenset[int]] = WeakKeyDictionary()


def ports_of(balancer: elbv2.IApplicationLoadBalancer) -> frozenset[int]:
    """Where a load balancer listens for services of this app."""
    return _PORTS.get(balancer, frozenset())


def take_ports(balancer: elbv2.IApplicationLoadBalancer, ports: Iterable[int]) -> None:
    """Notes where a load balancer listens."""
    _PORTS[balancer] = ports_of(balancer).union(ports)


def require_free_priority(listener: object, priority: object) -> None:
    """Refuses a priority that a rule of a listener has already.

    Raises:
        InvalidValueError: A rule of a service of this app has it.
    """
    taken = _PRIORITIES.get(cast("elbv2.IApplicationListener", listener), frozenset())
    if priority in taken:
        raise InvalidValueError(
            f"the listener has a rule of priority {priority} already",
            argument="priority",
            value=priority,
            allowed=f"a number that no rule of the listener has; in use: {', '.join(map(str, sorted(taken)))}",
            fix=f"priority={max(taken) + 1}",
        )


def take_priority(listener: elbv2.IApplicationListener, priority: int) -> None:
    """Notes that a rule of a listener has this priority."""
    _PRIORITIES[listener] = _PRIORITIES.get(listener, frozenset()) | {priority}

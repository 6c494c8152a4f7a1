"""What is in front of the target groups of a service, and do security groups let its requests through?

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-ecs-service-loadbalancer.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from gpu_constructs.facts.aws_limits import USUAL_DYNAMIC_PORTS
from gpu_constructs.facts.values import dataclass, grouped, kept
from gpu_constructs.fleet import Container, Pool, Task, Unknown, Workload
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.rule import Context
from gpu_constructs.template.model import Reference, Resource, mentioned, references_in
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.security_groups import EGRESS, INGRESS, Groups, Ports, SecurityGroups

_V2 = "AWS::ElasticLoadBalancingV2::"
_LOAD_BALANCER, _LISTENER, _RULE, _TARGET_GROUP = (
    f"{_V2}LoadBalancer",
    f"{_V2}Listener",
    f"{_V2}ListenerRule",
    f"{_V2}TargetGroup",
)
_OVER_TCP = frozenset({"HTTP", "HTTPS", "TCP", "TLS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What is missing on the way from a load balancer to a container.

    Attributes:
        group: The security group whose rules do not suffice.
        is_of_load_balancer: Whether it is the group of the load balancer, which does not let the requests out; else it
            is that of the tasks or hosts, which does not let them in.
        ports: The first and the last port that have to be open.
        open_ports: The parts of them that are.
        from_addresses: Whether the load balancer has no security group, so that rules for groups do not let it in.
    """

    group: Resource
    ports: tuple[int, int]
    is_of_load_balancer: bool = False
    open_ports: tuple[tuple[int, int], ...] = ()
    from_addresses: bool = False

    @property
    def name(self) -> str:
        """The logical id of the group."""
        return self.group.logical_id


class Target(NamedTuple):
    """One entry of ``LoadBalancers``, with the target group that it names, where the files define it."""

    workload: Workload
    task: Task
    service: Section
    entry: Section
    container_name: str | Unknown | None
    port: int | Unknown | None
    group: Resource | None

    @property
    def container(self) -> Container | None:
        """The container that gets the requests; None where the task has none of its name."""
        return next((each for each in self.task.containers if each.name == self.container_name), None)

    @property
    def target_type(self) -> str | Unknown | None:
        """What the target group registers; None for a group of no file."""
        return None if self.group is None else Section.of(self.group, []).text("TargetType") or "instance"


class Balancing:
    """Reads load balancers, each once. What is only known at deploy time, or written elsewhere, is unknown."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._index = context.index
        self._security = context.of_files(SecurityGroups)

    @cached_property
    def targets(self) -> Sequence[Target]:
        """What services on accelerators whose task is known have in front of them."""
        found: list[Target] = []
        for workload in self._context.once(accelerated_workloads):
            service = self._context.section(workload) if workload.is_service else None
            if service is not None and workload.task is not None:
                for entry in service.sections("LoadBalancers"):
                    name, port = entry.text("ContainerName"), entry.integer("ContainerPort")
                    group = self.target_group(entry)
                    found.append(Target(workload, workload.task, service, entry, name, port, group))
        return found

    def target_group(self, entry: Section) -> Resource | None:
        """The target group of an entry of ``LoadBalancers``, or of an action of a listener."""
        return self._index.find(entry.get("TargetGroupArn"), _TARGET_GROUP)

    def gap(self, target: Target) -> Gap | None:
        """What certainly keeps load balancers from a container; None where nothing does, or where it is not known."""
        group, ports = target.group, _ports_reached(target)
        if group is None or ports is None or _of(group).text("Protocol") not in _OVER_TCP:
            return None
        targets = self._groups_of_tasks(target.workload, target.task)
        sources = self._groups_before(group)
        from_addresses = not sources and self._comes_from_addresses(group)
        if not targets or not (sources or from_addresses):
            return None
        for groups, direction, others in ((targets, INGRESS, sources), (sources, EGRESS, targets)):
            ranges = self._security.open_ports(groups, direction, others) if groups else [ports]
            if not _covers(ranges, ports):
                parts = ((max(first, ports[0]), min(last, ports[1])) for first, last in sorted(ranges))
                return Gap(
                    group=groups[0],
                    is_of_load_balancer=direction == EGRESS,
                    ports=ports,
                    open_ports=tuple((int(first), int(last)) for first, last in parts if first <= last),
                    from_addresses=from_addresses,
                )
        return None

    @cached_property
    def _listeners(self) -> dict[Reference, dict[Reference | None, Resource | None]]:
        """The listeners that send requests to a target group; None for one that is written elsewhere."""
        found: dict[Reference, dict[Reference | None, Resource | None]] = {}
        for resource in self._index.all(_LISTENER, _RULE):
            properties = _of(resource)
            is_rule = resource.type == _RULE
            listener = self._index.find(properties.get("ListenerArn"), _LISTENER) if is_rule else resource
            for action in properties.sections("Actions" if is_rule else "DefaultActions"):
                for each in (action, *action.section("ForwardConfig").sections("TargetGroups")):
                    group = self.target_group(each)
                    if group is not None:
                        key = None if listener is None else listener.reference
                        found.setdefault(group.reference, {})[key] = listener
        return found

    @cached_property
    def _forwarders(self) -> dict[Reference, list[Resource]]:
        named = ((each, mentioned(each)[1]) for each in self._index.all(_LISTENER, _RULE))
        pairs = ((self._index.at(one, _TARGET_GROUP), each) for each, references in named for one in references)
        return grouped((group.reference, each) for group, each in pairs if group is not None)

    @cached_property
    def _mentioned_elsewhere(self) -> frozenset[Reference]:
        """What nested stacks and code of somebody are given, which may make listeners."""
        of_stacks = (references_in(each.properties) for each in self._index.all("AWS::CloudFormation::Stack"))
        return self._index.others.exposed_to_code.union(*of_stacks)

    def has_no_listener(self, group: Resource) -> bool:
        """Whether certainly nothing sends requests to a target group, which nothing outside can before it is made."""
        is_known = group.reference not in self._mentioned_elsewhere and group.exists is True
        return is_known and group.reference not in self._forwarders

    def late_listeners(self, group: Resource, service: Resource) -> tuple[str, ...]:
        """The listeners of the stack of a service that may come after it, if none comes before."""
        here = self._forwarders.get(group.reference, [])
        own = [each for each in here if each.stack == service.stack]
        if not own or len(own) < len(here) or any(each.exists is not True for each in own):
            return ()
        later = self._index.after(*(each.reference for each in own))
        return () if service.reference in later else tuple(each.logical_id for each in own)

    def _balancers_before(self, target_group: Resource) -> Groups:
        balancers: dict[Reference, Resource] = {}
        for listener in self._listeners.get(target_group.reference, {}).values():
            arn = None if listener is None else _of(listener).get("LoadBalancerArn")
            balancer = self._index.find(arn, _LOAD_BALANCER)
            if balancer is None:
                return ()
            balancers[balancer.reference] = balancer
        return tuple(balancers.values())

    @kept
    def _groups_before(self, target_group: Resource) -> Groups:
        balancers = self._balancers_before(target_group)
        return self._security.together(self._security.listed(_of(each), "SecurityGroups") for each in balancers)

    def _groups_of_tasks(self, workload: Workload, task: Task) -> Groups:
        if task.network_mode == "awsvpc":
            service = self._context.section(workload)
            return () if service is None else self._security.of_tasks(service)
        return self._security.together(self._groups_of_hosts(each.pool) for each in workload.strategy)

    @kept
    def _groups_of_hosts(self, pool: Pool | None) -> Groups:
        data = None if pool is None else self._context.launch(pool)
        # Hosts may set their dynamic ports themselves: ip_local_port_range or ECS_DYNAMIC_HOST_PORT_RANGE.
        if pool is None or data is None or "port_range" in pool.user_data.text.lower():
            return ()
        return self._security.of_launch(data, pool.user_data.text)

    def _comes_from_addresses(self, target_group: Resource) -> bool:
        """Whether every load balancer in front of a target group is a Network Load Balancer without security groups.

        https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
        """
        balancers = [_of(each) for each in self._balancers_before(target_group)]
        return bool(balancers) and all(
            each.text("Type") == "network" and not each.has("SecurityGroups") for each in balancers
        )


def _of(resource: Resource) -> Section:
    return Section.of(resource, [])


def _covers(ranges: Iterable[Ports], ports: tuple[int, int]) -> bool:
    reached, last = ports
    for first, end in sorted(ranges):
        if first <= reached <= end:
            reached = int(min(end, last)) + 1
    return reached > last


def _ports_reached(target: Target) -> tuple[int, int] | None:
    """The ports at which the container is reached; None where that is not known, or it has no such port."""
    mode, port = target.task.network_mode, target.port
    if isinstance(port, int) and mode in {"awsvpc", "host"}:
        return port, port
    mapped = () if mode != "bridge" or target.container is None else target.container.port_mappings
    for inside, on_host in () if isinstance(mapped, Unknown) else mapped:
        if inside == port:
            return (on_host, on_host) if on_host else USUAL_DYNAMIC_PORTS
    return None

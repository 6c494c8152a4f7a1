"""Load balancers of a service: what they send requests to, and whether security groups let them through.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-ecs-service-loadbalancer.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from gpu_constructs.fleet import UNKNOWN, ServiceTarget, Task, Unknown
from gpu_constructs.hardware.aws_limits import DYNAMIC_PORTS
from gpu_constructs.template.model import Reference, Resource, Value
from gpu_constructs.template.resources.clusters import CAPACITY_PROVIDER
from gpu_constructs.template.resources.groups import AUTO_SCALING_GROUP
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.security_groups import ALL_TRAFFIC, INGRESS, SecurityGroups

__all__ = ["Balancing"]

_V2 = "AWS::ElasticLoadBalancingV2::"
_LOAD_BALANCER, _LISTENER, _RULE, _TARGET_GROUP = (
    f"{_V2}LoadBalancer",
    f"{_V2}Listener",
    f"{_V2}ListenerRule",
    f"{_V2}TargetGroup",
)
_LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"

_Groups = tuple[Resource, ...]


class Balancing:
    """Reads the load balancers of services. What is only known at deploy time, or written elsewhere, is unknown."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._security = SecurityGroups(index)

    def targets(self, service: Section, task: Task | None) -> Iterator[ServiceTarget]:
        """Where the load balancers of a service send requests."""
        hosts = None
        for entry in service.sections("LoadBalancers"):
            container, port = entry.text("ContainerName"), entry.integer("ContainerPort")
            group = self._index.find(entry.get("TargetGroupArn"), _TARGET_GROUP)
            ports = None if task is None else _ports_reached(task, container, port)
            closed_by = ""
            if group is not None and ports is not None and task is not None:
                hosts = self._groups_of_tasks(service, task) if hosts is None else hosts
                closed_by = self._closed_by(self._groups_before(group), hosts, ports)
            yield ServiceTarget(
                container=container,
                port=port,
                target_type=UNKNOWN if group is None else _of(group).text("TargetType") or "instance",
                closed_by=closed_by,
                origin=entry.origin,
            )

    @cached_property
    def _listeners(self) -> dict[Reference, list[Resource | None]]:
        """The listeners that send requests to a target group; None for one that is written elsewhere."""
        found: dict[Reference, list[Resource | None]] = {}
        for resource in self._index.all(_LISTENER, _RULE):
            properties = _of(resource)
            is_rule = resource.type == _RULE
            listener = self._index.find(properties.get("ListenerArn"), _LISTENER) if is_rule else resource
            for action in properties.sections("Actions" if is_rule else "DefaultActions"):
                forwarded = action.section("ForwardConfig").sections("TargetGroups")
                for each in (action, *forwarded):
                    group = self._index.find(each.get("TargetGroupArn"), _TARGET_GROUP)
                    if group is not None:
                        found.setdefault(group.reference, []).append(listener)
        return found

    def _groups_before(self, target_group: Resource) -> _Groups:
        """The security groups of every load balancer in front of a target group; none where one is not known."""
        found: list[Resource] = []
        for listener in self._listeners.get(target_group.reference, ()):
            balancer = (
                None if listener is None else self._index.find(_of(listener).get("LoadBalancerArn"), _LOAD_BALANCER)
            )
            groups = () if balancer is None else self._security.listed(_of(balancer), "SecurityGroups")
            if not groups:
                return ()
            found += groups
        return tuple(found)

    def _groups_of_tasks(self, service: Section, task: Task) -> _Groups:
        """The security groups of the interfaces or hosts of tasks; none where one is not known."""
        if task.network_mode == "awsvpc":
            network = service.section("NetworkConfiguration").section("AwsvpcConfiguration")
            return self._security.listed(network, "SecurityGroups")
        found: list[Resource] = []
        for item in service.sections("CapacityProviderStrategy"):
            groups = self._groups_of_hosts(item.get("CapacityProvider"))
            if not groups:
                return ()
            found += groups
        return tuple(found)

    def _groups_of_hosts(self, provider: Value) -> _Groups:
        resource = self._index.find(provider, CAPACITY_PROVIDER)
        arn = None if resource is None else _of(resource).section("AutoScalingGroupProvider").get("AutoScalingGroupArn")
        scaled = self._index.find(arn, AUTO_SCALING_GROUP)
        if scaled is None:
            return ()
        properties = _of(scaled)
        mixed = properties.section("MixedInstancesPolicy").section("LaunchTemplate")
        specification = (
            mixed.section("LaunchTemplateSpecification") if mixed.keys else properties.section("LaunchTemplate")
        )
        template = self._index.find(specification.get("LaunchTemplateId"), _LAUNCH_TEMPLATE)
        if template is None or any(each.has("LaunchTemplateSpecification") for each in mixed.sections("Overrides")):
            return ()
        data = _of(template).section("LaunchTemplateData")
        interfaces = data.sections("NetworkInterfaces")
        if not interfaces:
            return self._security.listed(data, "SecurityGroupIds")
        found = [self._security.listed(each, "Groups") for each in interfaces]
        return tuple(group for groups in found for group in groups) if all(found) else ()

    def _closed_by(self, sources: _Groups, targets: _Groups, ports: tuple[int, int]) -> str:
        """The security group that lets none of the load balancers in; empty where one may, or where it is not known."""
        if not sources or not targets:
            return ""
        allowed = {each.reference for each in sources}
        for group in targets:
            for rule, source in self._security.rules(group, INGRESS):
                if _may_meet(rule, ports) and (source is None or source.reference in allowed):
                    return ""
        return targets[0].logical_id


def _of(resource: Resource) -> Section:
    """The properties of a resource that other linters look at: what is odd about them is not noted."""
    return Section.of(resource, [])


def _ports_reached(task: Task, container: str | Unknown | None, port: int | Unknown | None) -> tuple[int, int] | None:
    """The ports at which the container is reached; None where that is not known, or it has no such port."""
    if not isinstance(port, int):
        return None
    if task.network_mode in {"awsvpc", "host"}:
        return port, port
    mapped = next((each.port_mappings for each in task.containers if each.name == container), None)
    if task.network_mode != "bridge" or mapped is None or isinstance(mapped, Unknown):
        return None
    return next(
        ((on_host, on_host) if on_host else DYNAMIC_PORTS for inside, on_host in mapped if inside == port), None
    )


def _may_meet(rule: Section, ports: tuple[int, int]) -> bool:
    """Whether a rule is for one of these ports, as far as it is known."""
    first, last = rule.integer("FromPort"), rule.integer("ToPort")
    if rule.text("IpProtocol") == ALL_TRAFFIC or not isinstance(first, int) or not isinstance(last, int):
        return True
    return first <= ports[1] and ports[0] <= last

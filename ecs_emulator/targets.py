"""The tasks of a service as targets of its load balancers, and whether their security groups let requests through.

moto 5.2.5 registers no task, knows one port of each target, and finds every target healthy. Here a target is healthy
if a load balancer uses its group and security groups let it through on both sides. Not modelled: what the container
answers, subnets, network access lists, certificates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from moto.ec2.models import EC2Backend, ec2_backends
from moto.ecs.exceptions import InvalidParameterException
from moto.elbv2 import models
from moto.elbv2.exceptions import ELBClientError
from moto.elbv2.models import ELBv2Backend, FakeHealthStatus, FakeTargetGroup, elbv2_backends

if TYPE_CHECKING:
    from .services import EmulatedService
    from .tasks import EmulatedTask

__all__ = [
    "EmulatedTargetGroup",
    "install",
    "register_tasks",
    "require_load_balancer",
    "require_one_balancer",
    "targets_of",
    "unhealthy",
]

ANYWHERE = ip_network("0.0.0.0/0")


class EmulatedTargetGroup(FakeTargetGroup):
    """A target group whose targets are pairs of an id or address and a port."""

    def register(self, targets: list[dict[str, Any]]) -> None:
        for each in targets:
            self.targets[f"{each['Id']}:{each['Port']}"] = each

    def deregister(self, targets: list[dict[str, Any]]) -> None:
        for each in targets:
            self.targets.pop(f"{each['Id']}:{each['Port']}", None)

    def health_for(self, target: dict[str, Any], ec2_backend: EC2Backend) -> FakeHealthStatus:
        port = str(target["Port"])
        balancers = list(_balancers_of(self))
        reason: tuple[str, str | None, str | None] = ("unhealthy", "Target.Timeout", "Request timed out")
        if not balancers:
            reason = ("unused", "Target.NotInUse", "No load balancer uses the target group")
        elif any(_reaches(ec2_backend, each.security_groups, target) for each in balancers):
            reason = ("healthy", None, None)
        return FakeHealthStatus(target["Id"], port, self.health_check_port, *reason)


def _elb(group: FakeTargetGroup) -> ELBv2Backend:
    return elbv2_backends[group.account_id][group.region_name]


def _balancers_of(group: FakeTargetGroup) -> Iterator[Any]:
    elb = _elb(group)
    for balancer in elb.load_balancers.values():
        actions = [
            action for each in balancer.listeners.values() for rule in each.rules.values() for action in rule.actions
        ]
        if any(group.arn in elb._get_target_group_arns_from(action_data=each.data) for each in actions):
            yield balancer


def _reaches(ec2: EC2Backend, sources: list[str] | None, target: dict[str, Any]) -> bool:
    """Whether requests of a load balancer with these groups arrive at a target; without groups, from its subnets."""
    there, port = _groups_of(ec2, target["Id"]), int(target["Port"])
    if not sources:
        return any(_lets(each, "ingress", [], port) for each in map(ec2.get_security_group_from_id, there))
    leaves = any(_lets(each, "egress", there, port) for each in map(ec2.get_security_group_from_id, sources))
    return leaves and any(_lets(each, "ingress", sources, port) for each in map(ec2.get_security_group_from_id, there))


def _groups_of(ec2: EC2Backend, target: str) -> list[str]:
    if target.startswith("i-"):
        instance: Any = ec2.get_instance(target)
        return [group.id for nic in instance.nics.values() for group in nic.group_set] or [
            group.id for group in instance.security_groups
        ]
    return [group.id for nic in ec2.enis.values() if nic.private_ip_address == target for group in nic.group_set]


def _lets(group: Any, way: str, peers: Iterable[str], port: int) -> bool:
    for rule in getattr(group, f"{way}_rules"):
        ports = str(rule.ip_protocol) == "-1" or int(rule.from_port) <= port <= int(rule.to_port)
        anyone = any(ip_network(each["CidrIp"]) == ANYWHERE for each in [rule.ip_range or {}] if each.get("CidrIp"))
        if ports and (anyone or (rule.source_group or {}).get("GroupId") in set(peers)):
            return True
    return False


def require_one_balancer(elb: ELBv2Backend, balancer: str, actions: list[dict[str, Any]]) -> None:
    """Refuses actions of a load balancer that forward to what another one forwards to.

    "Each target group can be associated with only one load balancer", and once with it:
    https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
    """
    named = dict.fromkeys(arn for each in actions for arn in elb._get_target_group_arns_from(action_data=each))
    taken = [arn for arn in named if any(each.arn != balancer for each in _balancers_of(elb.target_groups[arn]))]
    if taken:
        raise ELBClientError(
            "TargetGroupAssociationLimit",
            "The following target groups cannot be associated with more than one load balancer: " + ", ".join(taken),
        )


def require_load_balancer(service: EmulatedService) -> None:
    """Refuses a service whose target group no load balancer uses, or whose type does not go with the network mode.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html
    """
    for group, _ in _groups(service):
        if not any(_balancers_of(group)):
            raise InvalidParameterException(
                f"The target group with targetGroupArn {group.arn} does not have an associated load balancer."
            )
        wanted = "ip" if service.network_configuration else "instance"
        if group.target_type != wanted:
            raise InvalidParameterException(
                f"The provided target group {group.arn} has target type {group.target_type}, which is incompatible "
                f"with the network mode of the task definition: {wanted} is required."
            )


def _groups(service: EmulatedService) -> Iterator[tuple[FakeTargetGroup, dict[str, Any]]]:
    elb = elbv2_backends[service._account_id][service.region_name]
    for entry in service.load_balancers or ():
        yield elb.target_groups[entry["targetGroupArn"]], entry


def register_tasks(service: EmulatedService) -> None:
    """Registers running tasks with its target groups, and deregisters the others."""
    groups = list(_groups(service))
    known = elbv2_backends[service._account_id][service.region_name].target_groups
    for arn in service.registered.keys() - {group.arn for group, _ in groups}:
        left = list(service.registered.pop(arn).values())
        if arn in known:
            known[arn].deregister(left)
    for group, entry in groups:
        wanted = {f"{each['Id']}:{each['Port']}": each for each in targets_of(service.active_tasks, entry)}
        mine = service.registered.setdefault(group.arn, {})
        group.deregister([each for key, each in mine.items() if key not in wanted])
        group.register([each for key, each in wanted.items() if key not in mine])
        service.registered[group.arn] = wanted


def targets_of(tasks: Iterable[EmulatedTask], entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets that running tasks are, for one load balancer of their service."""
    return [
        {"Id": each["bindId"], "Port": each["hostPort"]}
        for task in tasks
        if task.last_status == "RUNNING"
        for each in task.bindings
        if each["containerName"] == entry["containerName"] and each["containerPort"] == int(entry["containerPort"])
    ]


def unhealthy(service: EmulatedService) -> list[str]:
    """Its targets that get no requests, with the reason."""
    ec2 = ec2_backends[service._account_id][service.region_name]
    found = []
    for group, _ in _groups(service):
        for target in service.registered.get(group.arn, {}).values():
            health = group.health_for(target, ec2)
            if health.status != "healthy":
                found.append(f"{target['Id']}:{target['Port']} is {health.status} in ({group.name}): {health.reason}")
    return found


def install() -> None:
    """Every target group is one of these."""
    models.FakeTargetGroup = EmulatedTargetGroup  # type: ignore[misc]

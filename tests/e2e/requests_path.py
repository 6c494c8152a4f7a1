"""The way of a request through the account, read from its APIs: load balancer, listener, rule, target, host and port.

It ends at the port of a container: the emulator runs none, so nobody answers there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any
from urllib.parse import urlsplit

from ecs_emulator.account import Account

__all__ = ["Arrival", "send"]

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Arrival:
    """Where a request ends.

    Args:
        status: 301 and so on where the load balancer answers itself, 503 without a healthy target; 0 where a container
            has it.
        location: Where it is redirected to.
        targets: Ids or addresses, and ports, of the targets one of which gets it.
        containers: Names of the containers behind these ports.
    """

    status: int = 0
    location: str = ""
    targets: tuple[tuple[str, int], ...] = ()
    containers: tuple[str, ...] = ()


def send(account: Account, cluster: str, url: str) -> Arrival:
    """Send a request to a load balancer.

    Args:
        account: The account.
        cluster: Whose tasks may get it.
        url: Where to, with the name that AWS gives the load balancer.
    """
    elb, to = account.client("elbv2"), urlsplit(url.lower())
    balancers = elb.describe_load_balancers()["LoadBalancers"]
    (balancer,) = [each for each in balancers if each["DNSName"].lower() == to.hostname]
    listeners = elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]
    (listener,) = [each for each in listeners if each["Port"] == (to.port or _PORTS[to.scheme])]
    assert listener["Protocol"].lower() in {to.scheme, "tcp", "tls"}
    (action,) = _action(elb.describe_rules(ListenerArn=listener["ListenerArn"])["Rules"], to.path or "/")
    if action["Type"] == "redirect":
        there = action["RedirectConfig"]
        code = int(there["StatusCode"].removeprefix("HTTP_"))
        return Arrival(code, location=f"{there['Protocol'].lower()}://{to.hostname}:{there['Port']}{to.path}")
    if action["Type"] == "fixed-response":
        return Arrival(int(action["FixedResponseConfig"]["StatusCode"]))
    health = elb.describe_target_health(TargetGroupArn=action["TargetGroupArn"])["TargetHealthDescriptions"]
    targets = tuple(
        (each["Target"]["Id"], int(each["Target"]["Port"]))
        for each in health
        if each["TargetHealth"]["State"] == "healthy"
    )
    return Arrival(0 if targets else 503, targets=targets, containers=_containers(account, cluster, targets))


def _action(rules: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    last = len(rules) * 100_000
    by_priority = sorted(rules, key=lambda each: last if each["IsDefault"] else int(each["Priority"]))
    matching = next(each for each in by_priority if all(_holds(condition, path) for condition in each["Conditions"]))
    actions: list[dict[str, Any]] = matching["Actions"]
    return actions


def _holds(condition: dict[str, Any], path: str) -> bool:
    assert condition["Field"] == "path-pattern"
    return any(fnmatch(path, pattern) for pattern in condition["PathPatternConfig"]["Values"])


def _containers(account: Account, cluster: str, targets: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """The containers of running tasks that listen at these places."""
    ecs = account.client("ecs")
    arns = ecs.list_tasks(cluster=cluster)["taskArns"]
    found = []
    for task in ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"] if arns else ():
        if task["lastStatus"] != "RUNNING":
            continue
        details = [each for attachment in task["attachments"] for each in attachment["details"]]
        host = next((each["value"] for each in details if each["name"] == "privateIPv4Address"), None)
        if host is None:
            (instance,) = ecs.describe_container_instances(
                cluster=cluster, containerInstances=[task["containerInstanceArn"]]
            )["containerInstances"]
            host = instance["ec2InstanceId"]
        found += [
            container["name"]
            for container in task["containers"]
            for binding in container.get("networkBindings", ())
            if (host, binding["hostPort"]) in targets
        ]
    return tuple(found)

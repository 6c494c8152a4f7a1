"""Who reaches whom in an app: its load balancers, listeners, target groups and services, by their security groups.

Written from the documentation of CloudFormation alone, so that it says nothing because the library does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

__all__ = ["Estate", "Opening"]

_DYNAMIC = (32768, 65535)
_ALL = (0, 65535)
_V2 = "AWS::ElasticLoadBalancingV2::"


@dataclass(frozen=True, slots=True, order=True)
class Opening:
    """One way through: from whom, to whom, on which ports."""

    source: str
    target: str
    first: int
    last: int

    def covers(self, other: Opening) -> bool:
        """Whether whatever goes through the other may leave here."""
        to_it = self.source == other.source and self.target in {other.target, "0.0.0.0/0"}
        return to_it and self.first <= other.first and other.last <= self.last


class Estate:
    """The templates of an app, in which a resource is called ``Stack.LogicalId`` wherever it is used.

    Args:
        templates: By the name of their stack.
        groups_of: Security groups of load balancers whose listeners were imported, by the ARN of the listener.
    """

    def __init__(self, templates: Mapping[str, Mapping[str, Any]], groups_of: Mapping[str, str] | None = None) -> None:
        self._imported = dict(groups_of or {})
        self._outputs: dict[tuple[str, str], Any] = {}
        raw = {
            f"{stack}.{name}": (stack, each)
            for stack, template in templates.items()
            for name, each in template.get("Resources", {}).items()
        }
        for stack, template in templates.items():
            for name, output in template.get("Outputs", {}).items():
                value = self._named(stack, output["Value"])
                self._outputs[stack, name] = value
                if "Export" in output:
                    self._outputs["", str(output["Export"]["Name"])] = value
        self.resources: dict[str, dict[str, Any]] = {
            name: self._named(stack, {"Type": each["Type"], "Properties": each.get("Properties", {})})
            for name, (stack, each) in raw.items()
        }

    def _named(self, stack: str, value: Any) -> Any:
        """A value with names of resources in the place of references."""
        if isinstance(value, list):
            return [self._named(stack, each) for each in value]
        if not isinstance(value, dict):
            return value
        known = self._referred(stack, value) if len(value) == 1 else None
        return known or {key: self._named(stack, each) for key, each in value.items()}

    def _referred(self, stack: str, value: dict[str, Any]) -> Any:
        ((function, of),) = value.items()
        match function:
            case "Ref":
                return f"{stack}.{of}"
            case "Fn::GetAtt":
                return f"{stack}.{of[0]}"
            case "Fn::ImportValue":
                return self._outputs.get(("", str(of)))
            case "Fn::GetStackOutput":
                return self._outputs.get((of["StackName"], of["OutputName"]))
            case _:
                return None

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        """The properties of all resources of a type."""
        return self._by_kind.get(kind, {})

    @cached_property
    def _by_kind(self) -> dict[str, dict[str, dict[str, Any]]]:
        kinds: dict[str, dict[str, dict[str, Any]]] = {}
        for name, each in self.resources.items():
            kinds.setdefault(each["Type"], {})[name] = each["Properties"]
        return kinds

    @cached_property
    def twice(self) -> list[tuple[str, Opening]]:
        """Rules that EC2 would refuse because they are there already."""
        ways = (("Ingress", "Source"), ("Egress", "Destination"))
        found = Counter((way, each) for way, side in ways for each in self._rules(way, side))
        return [each for each, times in found.items() if times > 1]

    def may_pass(self, sources: Iterable[str], targets: Iterable[str], ports: tuple[int, int]) -> bool:
        """Whether something with some of these groups reaches something with some of those on all of some ports."""
        wanted = [Opening(source, target, *ports) for source in sources for target in targets]
        let_out = {each for each in wanted if any(one.covers(each) for one in self.egress)}
        return bool(let_out) and any(any(one.covers(each) for one in self.ingress) for each in wanted)

    @cached_property
    def ingress(self) -> set[Opening]:
        """What security groups let in, ranges of ports that meet as one."""
        return _joined(self._rules("Ingress", "Source"))

    @cached_property
    def egress(self) -> set[Opening]:
        """What they let out, likewise."""
        return _joined(self._rules("Egress", "Destination"))

    def _rules(self, way: str, side: str) -> Iterator[Opening]:
        inline = [
            (name, rule)
            for name, each in self.of("AWS::EC2::SecurityGroup").items()
            for rule in each.get(f"SecurityGroup{way}", ())
        ]
        alone = [(each["GroupId"], each) for each in self.of(f"AWS::EC2::SecurityGroup{way}").values()]
        for group, rule in [*inline, *alone]:
            peer = str(rule.get(f"{side}SecurityGroupId") or rule.get("CidrIp"))
            ports = _ALL if rule["IpProtocol"] == "-1" else (rule["FromPort"], rule["ToPort"])
            first, last = (each if isinstance(each, int) else 0 for each in ports)
            source, target = (peer, group) if way == "Ingress" else (group, peer)
            yield Opening(source, target, first, last)

    @cached_property
    def needed(self) -> dict[str, set[Opening]]:
        """What each service needs open, for every load balancer that sends it requests."""
        return {
            name: {
                Opening(balancer, tasks, *self._ports(service, entry))
                for entry in service.get("LoadBalancers", ())
                for balancer in self._groups_before(entry["TargetGroupArn"])
                for tasks in self._groups_of_tasks(name, service)
            }
            for name, service in self.of("AWS::ECS::Service").items()
        }

    def _groups_before(self, target_group: str) -> Iterator[str]:
        balancers = self.of(f"{_V2}LoadBalancer")
        listeners = self.of(f"{_V2}Listener")
        used_by = [name for name, each in listeners.items() if target_group in _targets(each["DefaultActions"])]
        used_by += [
            each["ListenerArn"]
            for each in self.of(f"{_V2}ListenerRule").values()
            if target_group in _targets(each["Actions"])
        ]
        for listener in used_by:
            if listener in self._imported:
                yield self._imported[listener]
            else:
                yield from balancers[listeners[listener]["LoadBalancerArn"]]["SecurityGroups"]

    def _groups_of_tasks(self, name: str, service: dict[str, Any]) -> list[str]:
        network = service.get("NetworkConfiguration", {}).get("AwsvpcConfiguration")
        if network:
            return list(network["SecurityGroups"])
        stack = name.partition(".")[0]
        templates = self.of("AWS::EC2::LaunchTemplate")
        used = [self._template_of(each["CapacityProvider"]) for each in service.get("CapacityProviderStrategy", ())]
        names = used or [key for key in templates if key.startswith(f"{stack}.")]
        hosts = [templates[key]["LaunchTemplateData"] for key in names]
        interfaces = [each for data in hosts for each in data.get("NetworkInterfaces", ())]
        groups = [data.get("SecurityGroupIds", ()) for data in hosts] + [each["Groups"] for each in interfaces]
        return sorted({group for of in groups for group in of})

    def _template_of(self, provider: str) -> str:
        scaled = self.of("AWS::ECS::CapacityProvider")[provider]["AutoScalingGroupProvider"]["AutoScalingGroupArn"]
        group = self.of("AWS::AutoScaling::AutoScalingGroup")[scaled]
        policy = group.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}).get("LaunchTemplateSpecification")
        return str((policy or group["LaunchTemplate"])["LaunchTemplateId"])

    def _ports(self, service: dict[str, Any], entry: dict[str, Any]) -> tuple[int, int]:
        task = self.resources[service["TaskDefinition"]]["Properties"]
        (container,) = [each for each in task["ContainerDefinitions"] if each["Name"] == entry["ContainerName"]]
        (mapping,) = [each for each in container["PortMappings"] if each["ContainerPort"] == entry["ContainerPort"]]
        port = mapping.get("HostPort") or (0 if task["NetworkMode"] == "bridge" else mapping["ContainerPort"])
        return (port, port) if port else _DYNAMIC


def _targets(actions: list[dict[str, Any]]) -> set[str]:
    forwarded = [each.get("ForwardConfig", {}).get("TargetGroups", ()) for each in actions]
    many = {each["TargetGroupArn"] for groups in forwarded for each in groups}
    return many | {each["TargetGroupArn"] for each in actions if "TargetGroupArn" in each}


def _joined(openings: Iterable[Opening]) -> set[Opening]:
    found: list[Opening] = []
    for each in sorted(openings):
        last = found[-1] if found else None
        if last and (last.source, last.target) == (each.source, each.target) and each.first == last.last + 1:
            found[-1] = replace(last, last=each.last)
        else:
            found.append(each)
    return set(found)

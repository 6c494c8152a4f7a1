"""Load balancers, listeners, rules and target groups as resources of a stack, in moto's backend.

moto 5.2.5 deletes none of them with a stack, loses what forwards by weights, and lets two listeners have one port. Not
modelled: attributes, certificates beyond their existence, the network interfaces that a load balancer has.
"""

from __future__ import annotations

from typing import Any

from moto.acm.models import acm_backends
from moto.elbv2.exceptions import DuplicateListenerError
from moto.elbv2.models import ELBv2Backend, elbv2_backends

from .resource import Properties, Region, Resource
from .targets import require_one_balancer

__all__ = ["Certificate", "Listener", "ListenerRule", "LoadBalancer", "TargetGroup"]

LONGEST_NAME = 32


def _elb(region: Region) -> ELBv2Backend:
    return elbv2_backends[region.account_id][region.name]


def _short(name: str) -> str:
    """A name of 32 characters at most, which ends in what makes it unique, as CloudFormation cuts it."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 13]}-{name[-12:]}".replace("--", "-")


def _balancer_of(region: Region, rule: Properties) -> str:
    """The load balancer of a rule's listener, which the ARN of the listener names."""
    return str(rule["ListenerArn"]).rpartition("/")[0].replace(":listener/", ":loadbalancer/")


class Certificate(Resource):
    """A certificate, which is issued at once: there is no DNS in which somebody could be asked."""

    type_name = "AWS::CertificateManager::Certificate"
    create_only = frozenset(
        {"CertificateAuthorityArn", "CertificateExport", "DomainName", "DomainValidationOptions", "KeyAlgorithm"}
    ) | {"SubjectAlternativeNames"}

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Certificate:
        acm = acm_backends[region.account_id][region.name]
        names = properties.get("SubjectAlternativeNames") or []
        # moto takes a request with the idempotency token of an earlier one, such as none, for that one.
        return cls(acm.request_certificate(properties["DomainName"], name, names, []))

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        acm_backends[region.account_id][region.name].delete_certificate(self.physical_resource_id)


class LoadBalancer(Resource):
    """A load balancer."""

    type_name = "AWS::ElasticLoadBalancingV2::LoadBalancer"
    name_property = "Name"
    attribute_names = frozenset(
        {"CanonicalHostedZoneID", "DNSName", "LoadBalancerArn", "LoadBalancerFullName", "LoadBalancerName"}
    )
    create_only = frozenset({"Name", "Scheme", "Type"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> LoadBalancer:
        made = _elb(region).create_load_balancer(
            _short(name),
            properties.get("SecurityGroups") or [],
            properties["Subnets"],
            scheme=properties.get("Scheme", "internet-facing"),
            loadbalancer_type=properties.get("Type", "application"),
        )
        attributes = {"CanonicalHostedZoneID": "Z35SXDOTRQ7X7K", "DNSName": made.dns_name, "LoadBalancerArn": made.arn}
        full = made.arn.partition(":loadbalancer/")[2]
        return cls(made.arn, {**attributes, "LoadBalancerFullName": full, "LoadBalancerName": made.name})

    def update(self, region: Region, properties: Properties) -> None:
        balancer = _elb(region).load_balancers[self.physical_resource_id]
        balancer.security_groups = properties.get("SecurityGroups") or []

    def remove(self, region: Region) -> None:
        _elb(region).delete_load_balancer(self.physical_resource_id)


class TargetGroup(Resource):
    """The targets that a listener sends requests to."""

    type_name = "AWS::ElasticLoadBalancingV2::TargetGroup"
    name_property = "Name"
    attribute_names = frozenset({"TargetGroupArn", "TargetGroupFullName", "TargetGroupName"})
    create_only = frozenset({"IpAddressType", "Name", "Port", "Protocol", "ProtocolVersion", "TargetType", "VpcId"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> TargetGroup:
        made = _elb(region).create_target_group(
            _short(name),
            vpc_id=properties.get("VpcId"),
            protocol=properties.get("Protocol"),
            port=properties.get("Port"),
            target_type=properties.get("TargetType"),
            healthcheck_protocol=properties.get("HealthCheckProtocol"),
            healthcheck_path=properties.get("HealthCheckPath"),
            healthcheck_interval_seconds=properties.get("HealthCheckIntervalSeconds"),
            healthcheck_timeout_seconds=properties.get("HealthCheckTimeoutSeconds"),
            healthy_threshold_count=properties.get("HealthyThresholdCount"),
            unhealthy_threshold_count=properties.get("UnhealthyThresholdCount"),
        )
        full = made.arn.rpartition(":")[2]
        return cls(made.arn, {"TargetGroupArn": made.arn, "TargetGroupFullName": full, "TargetGroupName": made.name})

    def update(self, region: Region, properties: Properties) -> None:
        _elb(region).modify_target_group(
            self.physical_resource_id,
            health_check_proto=properties.get("HealthCheckProtocol"),
            health_check_path=properties.get("HealthCheckPath"),
            health_check_interval=properties.get("HealthCheckIntervalSeconds"),
            health_check_timeout=properties.get("HealthCheckTimeoutSeconds"),
            healthy_threshold_count=properties.get("HealthyThresholdCount"),
            unhealthy_threshold_count=properties.get("UnhealthyThresholdCount"),
        )

    def remove(self, region: Region) -> None:
        _elb(region).delete_target_group(self.physical_resource_id)


class Listener(Resource):
    """A port of a load balancer; no two of one have the same."""

    type_name = "AWS::ElasticLoadBalancingV2::Listener"
    attribute_names = frozenset({"ListenerArn"})
    create_only = frozenset({"LoadBalancerArn"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Listener:
        elb = _elb(region)
        balancer = elb.load_balancers[properties["LoadBalancerArn"]]
        if any(int(each.port) == int(properties["Port"]) for each in balancer.listeners.values()):
            raise DuplicateListenerError
        require_one_balancer(elb, balancer.arn, properties["DefaultActions"])
        certificates = [each["CertificateArn"] for each in properties.get("Certificates") or ()]
        made = elb.create_listener(
            balancer.arn,
            properties["Protocol"],
            properties["Port"],
            properties.get("SslPolicy", ""),
            certificates[0] if certificates else None,
            properties["DefaultActions"],
        )
        return cls(made.arn, {"ListenerArn": made.arn})

    def update(self, region: Region, properties: Properties) -> None:
        require_one_balancer(_elb(region), properties["LoadBalancerArn"], properties["DefaultActions"])
        _elb(region).modify_listener(
            self.physical_resource_id,
            properties["Port"],
            properties["Protocol"],
            properties.get("SslPolicy"),
            None,
            properties["DefaultActions"],
        )

    def remove(self, region: Region) -> None:
        _elb(region).delete_listener(self.physical_resource_id)


class ListenerRule(Resource):
    """Where a listener sends the requests that meet its conditions."""

    type_name = "AWS::ElasticLoadBalancingV2::ListenerRule"
    attribute_names = frozenset({"RuleArn"})
    create_only = frozenset({"ListenerArn"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ListenerRule:
        require_one_balancer(_elb(region), _balancer_of(region, properties), properties["Actions"])
        made: Any = _elb(region).create_rule(
            properties["ListenerArn"], properties["Conditions"], int(properties["Priority"]), properties["Actions"]
        )
        return cls(made.arn, {"RuleArn": made.arn})

    def update(self, region: Region, properties: Properties) -> None:
        require_one_balancer(_elb(region), _balancer_of(region, properties), properties["Actions"])
        _elb(region).modify_rule(self.physical_resource_id, properties["Conditions"], properties["Actions"])
        (rule,) = _elb(region).describe_rules(None, [self.physical_resource_id])
        if rule.priority != int(properties["Priority"]):
            _elb(region).set_rule_priorities([{"RuleArn": rule.arn, "Priority": int(properties["Priority"])}])

    def remove(self, region: Region) -> None:
        _elb(region).delete_rule(self.physical_resource_id)

"""Namespaces and services of AWS Cloud Map as resources of a stack, and what Service Connect makes in them.

moto 5.2.5 has the calls and no type, and allows one private namespace in a VPC. Not modelled: records, health checks,
and the instances that tasks are. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from moto.ecs.exceptions import ECSException, InvalidParameterException
from moto.route53.models import route53_backends
from moto.servicediscovery.models import Namespace, Service, ServiceDiscoveryBackend, servicediscovery_backends

from .resource import AlreadyExistsError, Properties, Region, Resource

__all__ = [
    "CloudMapService",
    "HttpNamespace",
    "PrivateDnsNamespace",
    "PublicDnsNamespace",
    "connect",
    "disconnect",
    "namespace_for",
]

Json = Mapping[str, Any]


def _cloud_map(region: Region) -> ServiceDiscoveryBackend:
    return servicediscovery_backends[region.account_id][region.name]


def _make_namespace(region: Region, kind: str, name: str, vpc: str | None = None) -> Namespace:
    zone: dict[str, Any] = {}
    if kind != "HTTP":
        zones = route53_backends[region.account_id]["aws"]
        made = zones.create_hosted_zone(name, private_zone=kind == "DNS_PRIVATE", comment="of a namespace")
        zone = {"HostedZoneId": made.id}
    namespace = Namespace(region.account_id, region.name, name, kind, "", "", zone, {"HttpName": name}, vpc)
    _cloud_map(region).namespaces[namespace.id] = namespace
    return namespace


class HttpNamespace(Resource):
    """A namespace that is asked by calls alone."""

    type_name = "AWS::ServiceDiscovery::HttpNamespace"
    attribute_names = frozenset({"Arn", "Id"})
    create_only = frozenset({"Name", "Vpc"})
    kind: ClassVar[str] = "HTTP"

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> HttpNamespace:
        given, vpc = properties["Name"], properties.get("Vpc")
        # https://docs.aws.amazon.com/cloud-map/latest/api/API_CreateHttpNamespace.html: NamespaceAlreadyExists
        if any((each.name, each.type, each.vpc) == (given, cls.kind, vpc) for each in _namespaces(region)):
            raise AlreadyExistsError(cls.type_name, given)
        made = _make_namespace(region, cls.kind, given, vpc)
        return cls(made.id, {"Arn": made.arn, "Id": made.id, **made.dns_properties})

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        backend, mine = _cloud_map(region), self.physical_resource_id
        # https://docs.aws.amazon.com/cloud-map/latest/api/API_DeleteNamespace.html: ResourceInUse
        if used := [each.name for each in backend.services.values() if _namespace_of(each) == mine]:
            raise ValueError(f"The namespace {mine} contains the services {', '.join(used)} and cannot be deleted")
        if zone := self._attributes.get("HostedZoneId"):
            route53_backends[region.account_id]["aws"].delete_hosted_zone(zone)
        backend.delete_namespace(mine)


class PrivateDnsNamespace(HttpNamespace):
    """A namespace that is asked by DNS in one VPC."""

    type_name = "AWS::ServiceDiscovery::PrivateDnsNamespace"
    attribute_names = frozenset({"Arn", "HostedZoneId", "Id"})
    kind = "DNS_PRIVATE"


class PublicDnsNamespace(PrivateDnsNamespace):
    """A namespace that is asked by DNS from everywhere."""

    type_name = "AWS::ServiceDiscovery::PublicDnsNamespace"
    kind = "DNS_PUBLIC"


class CloudMapService(Resource):
    """A name in a namespace."""

    type_name = "AWS::ServiceDiscovery::Service"
    name_property = "Name"
    attribute_names = frozenset({"Arn", "Id", "Name"})
    create_only = frozenset({"HealthCheckCustomConfig", "Name", "NamespaceId", "Type"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> CloudMapService:
        records = properties.get("DnsConfig") or {}
        namespace = properties.get("NamespaceId") or records.get("NamespaceId")
        _cloud_map(region).get_namespace(str(namespace))  # which refuses one that is not there
        if name in _names(region, str(namespace)):
            raise AlreadyExistsError(cls.type_name, name)
        made = _make_service(region, str(namespace), name, records)
        return cls(made.id, {"Arn": made.arn, "Id": made.id, "Name": made.name})

    def update(self, region: Region, properties: Properties) -> None:
        _cloud_map(region).services[self.physical_resource_id].dns_config = properties.get("DnsConfig")

    def remove(self, region: Region) -> None:
        _cloud_map(region).delete_service(self.physical_resource_id)


def _make_service(region: Region, namespace: str, name: str, records: dict[str, Any] | None = None) -> Service:
    return _cloud_map(region).create_service(name, namespace, "", "", records or {}, {}, {}, [], "")


def _namespaces(region: Region) -> list[Namespace]:
    return list(_cloud_map(region).namespaces.values())


def _namespace_of(service: Service) -> str:
    return str(service.namespace_id or (service.dns_config or {}).get("NamespaceId"))


def _names(region: Region, namespace: str) -> set[str]:
    return {each.name for each in _cloud_map(region).services.values() if _namespace_of(each) == namespace}


def namespace_for(region: Region, defaults: Json | None) -> dict[str, str] | None:
    """The defaults of a cluster for Service Connect, by ARN; a name that no namespace has makes one.

    "If you enter a new name, a Cloud Map namespace will be created", of type HTTP, which stays when the cluster goes:
    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ClusterServiceConnectDefaultsRequest.html
    """
    name = (defaults or {}).get("namespace")
    if not name:
        return None
    found = _find(region, name) or _make_namespace(region, "HTTP", name)
    return {"namespace": found.arn}


def _find(region: Region, name_or_arn: str) -> Namespace | None:
    return next((each for each in _namespaces(region) if name_or_arn in (each.arn, each.name)), None)


def connect(region: Region, settings: Json, default: str | None, ports: set[str]) -> dict[str, str]:
    """Make what a service is called in its namespace.

    Args:
        region: Where it is.
        settings: Its ``serviceConnectConfiguration``.
        default: ARN of the namespace of its cluster.
        ports: The names of the port mappings of its task definition.

    Returns:
        What was made, by id of the Cloud Map service: the DNS name and port of its clients.

    Raises:
        ECSException: ECS refuses it.
    """
    if settings.get("enabled") not in (True, "true"):
        return {}
    name = settings.get("namespace") or default
    if not name:
        raise InvalidParameterException("Namespace is missing")  # pf-ecs-svc-connect-without-namespace of cdk-preflight
    namespace = _find(region, name)
    if namespace is None:
        raise ECSException("NamespaceNotFoundException", "The specified namespace wasn't found.")
    wanted = list(_endpoints(settings, namespace, ports))
    taken = {
        alias for each in _cloud_map(region).services.values() for alias in [each.attributes.get("alias")] if alias
    }
    for discovery, alias in wanted:
        if discovery in _names(region, namespace.id):
            # https://github.com/aws/copilot-cli/issues/4659
            raise InvalidParameterException(f"SC service is already used by {namespace.arn}")
        if f"{namespace.id} {alias}" in taken:
            raise InvalidParameterException(f"the client alias {alias} is already used in {namespace.arn}")
    made = {}
    for discovery, alias in wanted:
        service = _make_service(region, namespace.id, discovery)
        service.attributes["alias"] = f"{namespace.id} {alias}"
        made[service.id] = alias
    return made


def _endpoints(settings: Json, namespace: Namespace, ports: set[str]) -> Iterator[tuple[str, str]]:
    """The name of each service in Cloud Map, and what its clients call."""
    for each in settings.get("services") or ():
        if each["portName"] not in ports:
            raise InvalidParameterException(
                f"portName({each['portName']}) does not refer to any named PortMapping in the container definitions"
            )
        aliases = list(each.get("clientAliases") or ())
        if len(aliases) != 1:
            raise InvalidParameterException("clientAliases must have 1 element.")
        discovery = each.get("discoveryName") or each["portName"]
        yield discovery, f"{aliases[0].get('dnsName') or f'{discovery}.{namespace.name}'}:{aliases[0]['port']}"


def disconnect(region: Region, made: Mapping[str, str]) -> None:
    """Take back what `connect` made."""
    for each in made:
        _cloud_map(region).delete_service(each)

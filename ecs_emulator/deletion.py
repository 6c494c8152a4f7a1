"""Deleting one resource of a stack as AWS does: the deletes that moto 5.2.5 lacks and the refusals it forgets.

moto leaves route tables, gateways, addresses, endpoints and flow logs behind, deletes subnets and VPCs that are still
in use, and keeps a bucket with objects without a word. What the emulator makes itself (`resource`) deletes itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moto.core.common_models import CloudFormationModel
from moto.ec2.exceptions import DependencyViolationError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.iam.models import iam_backends
from moto.route53.models import route53_backends
from moto.s3.models import FakeBucket

from .resource import Region

__all__ = ["can_delete", "delete"]


def delete(resource: Any, definition: dict[str, Any], region: Region) -> None:
    """Delete a resource.

    Args:
        resource: moto's model of it, or one of the emulator's own.
        definition: Its entry in the template, functions resolved.
        region: Where its stack lives.

    Raises:
        Exception: AWS would not delete it, or the emulator cannot.
    """
    kind = definition["Type"]
    if kind in EC2:
        EC2[kind](ec2_backends[region.account_id][region.name], resource, definition["Properties"])
        return
    if kind in ELSEWHERE:
        ELSEWHERE[kind](region, resource)
        return
    if kind == "AWS::S3::Bucket":
        _require_empty(resource)
    if callable(getattr(resource, "delete", None)):
        resource.delete(region.account_id, region.name)
        return
    by_class = type(resource).delete_from_cloudformation_json
    by_class(resource.physical_resource_id, definition, region.account_id, region.name)


def can_delete(model: type[CloudFormationModel], kind: str) -> bool:
    """Whether `delete` can delete resources of a type, which it does by a model."""
    own = kind in EC2 or kind in ELSEWHERE or callable(getattr(model, "delete", None))
    return own or not hasattr(model.delete_from_cloudformation_json, "__isabstractmethod__")


def _require_empty(bucket: FakeBucket) -> None:
    # A bucket with versions alone is not empty either: https://repost.aws/knowledge-center/delete-cf-stack-s3-bucket
    if bucket.keys:
        raise ValueError(f"The bucket you tried to delete is not empty: {bucket.name}")


def _vpc(ec2: EC2Backend, vpc: Any, _: dict[str, Any]) -> None:
    gateways = [gateway.id for gateway in ec2.internet_gateways.values() if gateway.vpc and gateway.vpc.id == vpc.id]
    groups = [group.id for group in ec2.groups.get(vpc.id, {}).values() if group.name != "default"]
    endpoints = [item.id for item in ec2.vpc_end_points.values() if item.vpc_id == vpc.id and item.state != "deleted"]
    if gateways or groups or endpoints:
        raise DependencyViolationError(
            f"The vpc '{vpc.id}' has dependencies and cannot be deleted: {', '.join(gateways + groups + endpoints)}"
        )
    ec2.delete_vpc(vpc.id)


def _subnet(ec2: EC2Backend, subnet: Any, _: dict[str, Any]) -> None:
    interfaces = [interface.id for interface in ec2.enis.values() if interface.subnet.id == subnet.id]
    if interfaces:
        raise DependencyViolationError(
            f"The subnet '{subnet.id}' has dependencies and cannot be deleted: {', '.join(interfaces)}"
        )
    ec2.delete_subnet(subnet.id)


def _nat_gateway(ec2: EC2Backend, gateway: Any, _: dict[str, Any]) -> None:
    for address in ec2.addresses:
        if address.eni is gateway._eni:
            ec2.disassociate_address(address=address.public_ip)
    ec2.delete_nat_gateway(gateway.id)
    ec2.enis.pop(gateway._eni.id, None)


def _gateway_attachment(ec2: EC2Backend, _: Any, properties: dict[str, Any]) -> None:
    ec2.detach_internet_gateway(properties["InternetGatewayId"], properties["VpcId"])


def _route(ec2: EC2Backend, route: Any, _: dict[str, Any]) -> None:
    route.route_table._routes.pop(route.id, None)


def _association(ec2: EC2Backend, _: Any, properties: dict[str, Any]) -> None:
    ec2.subnet_associations.pop(f"{properties['RouteTableId']}:{properties['SubnetId']}", None)


def _endpoint(ec2: EC2Backend, endpoint: Any, _: dict[str, Any]) -> None:
    ec2.delete_vpc_endpoints([endpoint.id])
    ec2.vpc_end_points.pop(endpoint.id, None)


EC2: dict[str, Callable[[EC2Backend, Any, dict[str, Any]], object]] = {
    "AWS::EC2::EIP": lambda ec2, address, _: ec2.release_address(allocation_id=address.allocation_id),
    "AWS::EC2::FlowLog": lambda ec2, log, _: ec2.delete_flow_logs([log.id]),
    "AWS::EC2::InternetGateway": lambda ec2, gateway, _: ec2.delete_internet_gateway(gateway.id),
    "AWS::EC2::NatGateway": _nat_gateway,
    "AWS::EC2::Route": _route,
    "AWS::EC2::RouteTable": lambda ec2, table, _: ec2.delete_route_table(table.id),
    "AWS::EC2::Subnet": _subnet,
    "AWS::EC2::SubnetRouteTableAssociation": _association,
    "AWS::EC2::VPC": _vpc,
    "AWS::EC2::VPCEndpoint": _endpoint,
    "AWS::EC2::VPCGatewayAttachment": _gateway_attachment,
}


def _policy(region: Region, policy: Any) -> None:
    iam_backends[region.account_id]["aws"].delete_policy(policy.arn)


def _zone(region: Region, zone: Any) -> None:
    route53_backends[region.account_id]["aws"].delete_hosted_zone(zone.id)


ELSEWHERE: dict[str, Callable[[Region, Any], object]] = {
    "AWS::IAM::ManagedPolicy": _policy,
    "AWS::Route53::HostedZone": _zone,
}

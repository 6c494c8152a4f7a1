"""Subnets of hosts: their zones, as far as they are written, and whose hosts share their machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_constructs.fleet import Subnet, Unknown, written_subnet_id, written_zone
from gpu_constructs.template.model import ZONE_OF_LIST, Placeholder, Text, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Section, is_list

_SUBNET = "AWS::EC2::Subnet"
_VPC = "AWS::EC2::VPC"
_SHARED = frozenset({None, "default"})


def tenancy_in(subnets: Value, written: str | Unknown | None, index: Index) -> str | Unknown | None:
    """Whose hosts may share a machine: as written, but dedicated in a VPC whose hosts all are.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/dedicated-instance.html
    """
    found = (index.find(each, _SUBNET) for each in subnets) if is_list(subnets) else ()
    networks = (None if each is None else index.find(each.properties.get("VpcId"), _VPC) for each in found)
    of_network = [Section.of(each, []).text("InstanceTenancy") for each in networks if each is not None]
    other = next((each for each in of_network if each not in _SHARED), None)
    return written if other is None or written not in _SHARED else other


def zones_of(subnets: Value, zones: Value, index: Index) -> int | None:
    """How many Availability Zones some subnets, or else some zones, are; None where that is not known."""
    if is_list(subnets) and subnets:
        if len(subnets) == 1:
            return 1
        found = (index.find(each, _SUBNET) for each in subnets)
        return _different(None if each is None else each.properties.get("AvailabilityZone") for each in found)
    return _different(zones) if is_list(zones) and zones else None


def subnets_of(subnets: Value, zones: Value, index: Index) -> tuple[Subnet, ...]:
    """What is written of each of some subnets, or else of some zones; empty where they are not known."""
    if is_list(subnets) and subnets:
        return tuple(_subnet(each, index) for each in subnets)
    found = zones if is_list(zones) else ()
    return tuple(map(in_zone, found))


def in_zone(written: Value) -> Subnet:
    """What is written of an Availability Zone."""
    return Subnet(zone=written_zone(written), zone_index=_index_of_zone(written))


def _subnet(value: Value, index: Index) -> Subnet:
    if isinstance(value, str):
        return Subnet(id=written_subnet_id(value))
    found = index.find(value, _SUBNET)
    return Subnet() if found is None else replace(in_zone(found.properties.get("AvailabilityZone")), is_new=True)


def _index_of_zone(written: Value) -> int | None:
    if not isinstance(written, Text) or len(written.pieces) != 1 or not isinstance(written.pieces[0], Placeholder):
        return None
    name = written.pieces[0].name
    return int(name.removeprefix(ZONE_OF_LIST)) if name.startswith(ZONE_OF_LIST) else None


def _different(names: Iterable[Value]) -> int | None:
    known: set[str] = set()
    for each in names:
        if not isinstance(each, str):
            return None
        known.add(each)
    return len(known)

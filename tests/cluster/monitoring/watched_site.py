"""A monitored cluster with a capacity of each kind, and its template with plain names in it."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import Purchase
from tests.synthesis import Site, app_in

from .recorded_events import BLOCK, CLUSTER

ENDS = datetime(2030, 1, 1, 11, 30, tzinfo=timezone.utc)


class Watched:
    """The resources of its template, every reference to one replaced by its logical id."""

    def __init__(self) -> None:
        site = Site(app_in(context=Site.recommended_context()))
        cluster = site.cluster
        cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=4)
        self.monitoring = cluster.add_monitoring("Monitoring")
        # After the monitoring, which has to know them as well.
        types = ["g5.xlarge", "g5.2xlarge"]
        cluster.add_capacity("Spot", instance_types=types, max_instances=8, purchase=Purchase.spot())
        cluster.add_capacity(
            "Block",
            instance_types=["p5.48xlarge"],
            max_instances=2,
            purchase=Purchase.capacity_block(BLOCK, instances=2, ends=ENDS),
            vpc_subnets=ec2.SubnetSelection(availability_zones=["us-east-1a"]),
        )
        cluster.add_capacity("Cpu", instance_types=["c7i.xlarge"], max_instances=2)
        cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
        self.resources: dict[str, Any] = {key: _plain(each) for key, each in site.template()["Resources"].items()}
        self.cluster = CLUSTER.rpartition("/")[2]

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [each["Properties"] for each in self.resources.values() if each["Type"] == kind]

    @property
    def alarms(self) -> dict[str, dict[str, Any]]:
        """By their ids."""
        assert all(each.node.id == key for key, each in self.monitoring.alarms.items())
        name_of: Any = cdk.Stack.of(self.monitoring).get_logical_id
        logical = {key: name_of(each.node.default_child) for key, each in self.monitoring.alarms.items()}
        return {key: self.resources[each]["Properties"] for key, each in logical.items()}

    @property
    def dashboard(self) -> dict[str, Any]:
        (properties,) = self.of_type("AWS::CloudWatch::Dashboard")
        body: dict[str, Any] = json.loads(properties["DashboardBody"])
        return body

    def provider(self, capacity: str) -> str:
        """The logical id of a capacity provider."""
        return next(each for each in self.resources if each.startswith(f"Cluster{capacity}Provider"))

    def group(self, capacity: str) -> str:
        return next(
            key
            for key, each in self.resources.items()
            if key.startswith(f"Cluster{capacity}Group") and each["Type"] == "AWS::AutoScaling::AutoScalingGroup"
        )


@cache
def watched() -> Watched:
    """The one that all files of tests read."""
    return Watched()


_CLUSTER = re.compile("ClusterC[0-9A-F]{7}")
_PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::AccountId": "111122223333"}


def _plain(value: Any) -> Any:
    """References as plain text."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(each) for key, each in value.items()}
    match plain:
        case {"Fn::Join": [separator, parts]}:
            return separator.join(map(str, parts))
        case {"Fn::GetAtt": [name, attribute]}:
            return CLUSTER if _CLUSTER.fullmatch(name) else f"{name}.{attribute}"
        case {"Ref": name}:
            return _CLUSTER.sub(CLUSTER.rpartition("/")[2], _PSEUDO.get(name, name))
    return plain

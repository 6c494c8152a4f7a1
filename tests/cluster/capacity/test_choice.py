"""What a capacity is asked to be, handed on whole."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import (
    CapacityChoice,
    GpuCluster,
    GpuMachineImage,
    HostNetwork,
    HostScaling,
    HostStorage,
    Purchase,
    cluster,
)
from tests.synthesis import Site


def test_a_choice_takes_what_add_capacity_takes() -> None:
    """One definition for type checkers and editors to read, and one for the library to hand on."""
    asked = dict(inspect.signature(GpuCluster.add_capacity).parameters)
    del asked["self"]
    assert asked == dict(inspect.signature(CapacityChoice).parameters)


def test_add_capacity_hands_everything_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[CapacityChoice] = []

    class Seen(Exception):  # noqa: N818 - ends the call
        pass

    def plan(choice: CapacityChoice, _: object) -> None:
        seen.append(choice)
        raise Seen

    monkeypatch.setattr(cluster, "plan_capacity", plan)
    given: dict[str, Any] = {
        "construct_id": "Gpu",
        "instance_types": ["g6.xlarge"],
        "max_instances": 3,
        "min_instances": 1,
        "image": GpuMachineImage.newest("al2023-gpu"),
        "purchase": Purchase.spot(),
        "scaling": HostScaling(),
        "storage": HostStorage(),
        "network": HostNetwork(),
        "check_gpus_at_boot": True,
        "vpc_subnets": ec2.SubnetSelection(one_per_az=True),
        "capacity_provider_name": "gpu",
    }
    assert given.keys() == {each.name for each in fields(CapacityChoice)}
    with pytest.raises(Seen):
        site.cluster.add_capacity(**given)
    assert {each.name: getattr(seen[0], each.name) for each in fields(CapacityChoice)} == given

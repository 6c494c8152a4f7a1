"""Regions and accounts that CDK joins at synth, and AWS does not."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from gpu_constructs import CapacityChoice, GpuBatchQueue, GpuCluster, IncompatibleError, MultiNodeTraining
from tests.synthesis import Site

VIRGINIA, IRELAND = "us-east-1", "eu-west-1"
CHOICE = CapacityChoice("Hosts", instance_types=["g6.12xlarge"], max_instances=4)


def stack(site: Site, name: str, region: str, account: str = "111111111111") -> cdk.Stack:
    return cdk.Stack(site.app, name, env=cdk.Environment(region=region, account=account))


def network(of: cdk.Stack) -> ec2.Vpc:
    return ec2.Vpc(of, "Vpc", max_azs=1)


def refused(argument: str, make: Any) -> str:
    with pytest.raises(IncompatibleError) as error:
        make()
    assert error.value.argument == argument
    return str(error.value)


def test_hosts_are_in_the_region_of_their_network_and_of_their_key(site: Site) -> None:
    here, there = stack(site, "Here", VIRGINIA), stack(site, "There", IRELAND)
    near, far, key = network(here), network(there), kms.Key(there, "Key")
    said = refused("vpc", lambda: GpuCluster(here, "Cluster", vpc=far))
    assert "the VPC is in region eu-west-1, and stack Here in us-east-1" in said
    refused("vpc", lambda: GpuBatchQueue(here, "Queue", vpc=far, environments=[CHOICE]))
    refused("encryption_key", lambda: GpuCluster(here, "Encrypted", vpc=near, encryption_key=key))
    refused("encryption_key", lambda: GpuBatchQueue(here, "Queue", vpc=near, environments=[CHOICE], encryption_key=key))


def test_a_training_is_in_the_place_of_its_queue(site: Site) -> None:
    there = stack(site, "There", IRELAND)
    queue = GpuBatchQueue(there, "Queue", vpc=network(there), environments=[CHOICE])
    for name, region, account in (("Far", VIRGINIA, "111111111111"), ("Other", IRELAND, "222222222222")):
        scope = stack(site, name, region, account)
        said = refused(
            "queue",
            lambda scope=scope: MultiNodeTraining(
                scope, "Train", queue=queue, hosts=2, image=site.image, command=["train.py"]
            ),
        )
        assert "AWS Batch does not find it" in said

"""Arguments of CDK's Auto Scaling group that a capacity passes on, and what its hosts are told besides."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns as sns

from gpu_constructs import (
    CapacityChoice,
    GpuBatchQueue,
    GpuConstructsError,
    GpuMachineImage,
    HostScaling,
    HostStorage,
    InvalidValueError,
    Purchase,
)
from tests.synthesis import Ground, Site, user_data

_BY_FUNCTION = autoscaling.TerminationPolicy.CUSTOM_LAMBDA_FUNCTION


def _commands(*lines: str) -> ec2.UserData:
    script = ec2.UserData.for_linux()
    script.add_commands(*lines)
    return script


def test_the_group_gets_what_cdks_group_takes(site: Site) -> None:
    ebs = [autoscaling.AdditionalHealthCheckType.EBS]
    topic = sns.Topic.from_topic_arn(site.stack, "Told", "arn:aws:sns:us-east-1:111122223333:told")
    site.capacity(
        "g6.xlarge",
        purchase=Purchase.spot(),
        capacity_rebalance=True,
        default_instance_warmup=cdk.Duration.minutes(5),
        group_metrics=[autoscaling.GroupMetrics.all()],
        health_checks=autoscaling.HealthChecks.with_additional_checks(additional_types=ebs),
        instance_monitoring=autoscaling.Monitoring.DETAILED,
        max_instance_lifetime=cdk.Duration.days(30),
        notifications=(autoscaling.NotificationConfiguration(topic=topic),),
        termination_policies=[autoscaling.TerminationPolicy.OLDEST_INSTANCE],
    )
    group = site.only("AWS::AutoScaling::AutoScalingGroup")
    expected: dict[str, Any] = {
        "CapacityRebalance": True,
        "DefaultInstanceWarmup": 300,
        "HealthCheckType": "EBS",
        "MaxInstanceLifetime": 30 * 24 * 3600,
        "MetricsCollection": [{"Granularity": "1Minute"}],
        "TerminationPolicies": ["OldestInstance"],
    }
    assert {name: group[name] for name in expected} == expected
    assert group["NotificationConfigurations"][0]["TopicARN"].endswith(":told")
    assert site.launch_template()["Monitoring"] == {"Enabled": True}


def test_hosts_are_measured_each_five_minutes_where_one_says_so(site: Site) -> None:
    site.capacity("g6.xlarge", instance_monitoring=autoscaling.Monitoring.BASIC)
    assert site.launch_template()["Monitoring"] == {"Enabled": False}


def test_an_architecture_is_not_taken_for_types_that_are_not_known(ground: Ground) -> None:
    type_ = cdk.CfnParameter(ground.stack, "Type").value_as_string
    image = GpuMachineImage.pinned("al2023-gpu")
    for types, said in (([type_], "unknown"), (["g6.xlarge", type_], "Ada")):
        with pytest.raises(InvalidValueError, match=r"types of .* is (Ada and )?unknown; fix: leave it out"):
            Site.capacity(ground, *types, name="Refused", image=image, instance_attributes={"gpu.arch": said})


def test_hosts_run_commands_after_all_others_and_have_settings_and_attributes(site: Site) -> None:
    site.capacity(
        "g6.xlarge",
        user_data=_commands("set -x", "dnf install -y lustre-client"),
        agent_settings={"ECS_CONTAINER_START_TIMEOUT": "15m", "ECS_LOGLEVEL": "crit"},
        instance_attributes={"team": "vision", "gpu.arch": "Ada"},
    )
    lines = user_data(site.launch_template()).splitlines()
    assert lines[-3:] == ["echo ECS_CLUSTER=<ClusterC2E21B66> >> /etc/ecs/ecs.config", "set -x", lines[-1]]
    assert lines[-1] == "dnf install -y lustre-client"
    assert {"ECS_CONTAINER_START_TIMEOUT=15m", "ECS_LOGLEVEL=crit"} <= {*lines}
    (attributes,) = (each for each in lines if each.startswith("ECS_INSTANCE_ATTRIBUTES="))
    assert json.loads(attributes.partition("=")[2]) == {
        "accelerator": "nvidia",
        "gpu.arch": "Ada",
        "gpu.count": "1",
        "gpu.memory-gib": "22",
        "gpu.name": "L4",
        "team": "vision",
    }


def test_bottlerocket_has_names_of_its_own(site: Site) -> None:
    site.capacity(
        "g5g.xlarge",
        agent_settings={"ECS_IMAGE_CLEANUP_INTERVAL": "15m", "ECS_NUM_IMAGES_DELETE_PER_CYCLE": "9"},
        instance_attributes={"team": "vision"},
    )
    lines = user_data(site.launch_template()).splitlines()
    expected = [
        'image-cleanup-wait = "15m"',
        "image-cleanup-delete-per-cycle = 9",
        'instance-attributes."team" = "vision"',
    ]
    assert [each for each in expected if each not in lines] == []


@pytest.mark.parametrize(
    ("types", "arguments", "message"),
    [
        (
            "g6.xlarge",
            {
                "max_instance_lifetime": cdk.Duration.days(7),
                "scaling": HostScaling(managed_termination_protection=True),
            },
            "replaces no host that is protected from scale-in",
        ),
        (
            "g6.xlarge",
            {"max_instance_lifetime": cdk.Duration.days(366)},
            "^max_instance_l.* 1 to 365 days, got 366",
        ),
        ("g6.xlarge", {"default_instance_warmup": cdk.Duration.millis(1500)}, "^default_instance_warmup: .*whole"),
        ("g6.xlarge", {"termination_policies": [_BY_FUNCTION]}, "^termination_policies: .* the ARN of a function"),
        ("g6.xlarge", {"capacity_rebalance": True}, "those of .* are not Spot"),
        ("g6.xlarge", {"notifications": "topic"}, "expects a list of autoscaling.NotificationConfiguration"),
        ("g6.xlarge", {"user_data": "echo"}, r"an ec2.UserData, .*for_linux\(\), then add_commands\('echo'\)"),
        ("g6.xlarge", {"user_data": ec2.UserData.for_linux(shebang="#!/bin/bash -e")}, "got '#!/bin/bash -e'"),
        ("g6.xlarge", {"user_data": _commands("echo ECS_CLUSTER=x >> /etc/ecs/ecs.config")}, "ECS_CLUSTER is set by"),
        (
            "g6.xlarge",
            {
                "user_data": _commands("echo ECS_LOGLEVEL=warn >> /etc/ecs/ecs.config"),
                "agent_settings": {"ECS_LOGLEVEL": "info"},
            },
            "^user_data: ECS_LOGLEVEL is in agent_settings as well",
        ),
        ("g5g.xlarge", {"user_data": _commands("true")}, "Bottlerocket has no shell"),
        ("g6.xlarge", {"agent_settings": {"ECS_RESERVED_MEMORY": "9"}}, r"leave_room_for_daemons\(memory_mib=…\)"),
        ("g6.xlarge", {"agent_settings": {"ECS_CONTAINER_STOP": "9s"}}, "did you mean ECS_CONTAINER_STOP_TIMEOUT"),
        (
            "g6.xlarge",
            {"agent_settings": {"ECS_CONTAINER_STOP_TIMEOUT": "9"}},
            "expects a time such as '15m'.* got '9'",
        ),
        ("g6.xlarge", {"agent_settings": {"ECS_CONTAINER_STOP_TIMEOUT": 9}}, "expects .*got 9"),
        ("g6.xlarge", {"agent_settings": {"ECS_IMAGE_CLEANUP_INTERVAL": "9m59s"}}, "below 600s, .*fix: .* or more"),
        ("g5g.xlarge", {"agent_settings": {"ECS_POLL_METRICS": "true"}}, "Bottlerocket has no setting for"),
        (
            "g6.xlarge",
            {
                "agent_settings": {"ECS_IMAGE_PULL_BEHAVIOR": "once"},
                "storage": HostStorage(prefer_cached_images=True),
            },
            "ECS_IMAGE_PULL_BEHAVIOR is set by this library",
        ),
        ("g6.xlarge", {"instance_attributes": {"gpu.arch": "Hopper"}}, r"types of .* is Ada.*\{'gpu.arch': 'Ada'\}"),
        ("g6.xlarge", {"instance_attributes": {"gpu.name": "L4"}}, "gpu.name is set by this library"),
        ("g6.xlarge", {"instance_attributes": {"ecs.subnet-id": "x"}}, "no attribute that a host may be given"),
        ("g6.xlarge", {"instance_attributes": {"team": "a;b"}}, "'team': 'a;b' is no attribute"),
        ("g6.xlarge", {"instance_attributes": {"team": "a "}}, "'team': 'a ' is no attribute"),
        ("g6.xlarge", {"agent_settings": {"ECS_LOGLEVEL": "critical"}}, "or 'crit', got 'critical'"),
        ("g6.xlarge", {"instance_attributes": {f"a{n}": "x" for n in range(7)}}, "10 attributes at most.*6 or fewer"),
    ],
)
def test_what_cannot_be_passed_on_is_refused(
    ground: Ground, types: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(GpuConstructsError, match=f"(?s){message}"):
        Site.capacity(ground, types, name="Refused", **arguments)
    # Those of an order are refused as well.
    order = [CapacityChoice(name, instance_types=[types], max_instances=4, **arguments) for name in ("A", "B")]
    with pytest.raises(GpuConstructsError, match=f"(?s){message}"):
        ground.cluster.add_fallback("Order", order=order)


def test_aws_batch_takes_none_of_them(ground: Ground) -> None:
    choice = CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=1, instance_attributes={"team": "vision"})
    with pytest.raises(InvalidValueError, match="AWS Batch makes the Auto Scaling group"):
        GpuBatchQueue(ground.stack, "Queue", vpc=ground.vpc, environments=[choice])

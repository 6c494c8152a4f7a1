"""Hosts prove their GPUs before they take tasks: what is defined around the script of tests/e2e/test_gpu_check.py."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns as sns

from gpu_constructs import GpuCapacity, GpuMachineImage, HostScaling, IncompatibleError
from gpu_constructs.cluster.capacity.scaling import WarmHosts
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.template import fleet_of, read_stacks
from tests.synthesis import Ground, Properties, Site, user_data


@pytest.fixture(scope="module")
def checked(shared_site: Site) -> Site:
    """A capacity without the check between two with it, of which the first has hosts at once."""
    shared_site.capacity("g6.12xlarge", name="C0", check_gpus_at_boot=True, min_instances=1)
    assert shared_site.capacity("g6.xlarge", name="C1").boot_check is None
    shared_site.capacity("g6.xlarge", name="C2", check_gpus_at_boot=True)
    return shared_site


def resources(template: Properties, kind: str) -> dict[str, Properties]:
    return {key: each for key, each in template["Resources"].items() if each["Type"] == kind}


def groups(site: Site) -> dict[str, Properties]:
    return resources(site.template(), "AWS::AutoScaling::AutoScalingGroup")


def user_data_of(site: Site) -> list[str]:
    """What hosts of each capacity read."""
    return [user_data(each["LaunchTemplateData"]) for each in site.properties("AWS::EC2::LaunchTemplate")]


def test_the_whole_user_data_is_a_script_that_puts_the_check_before_the_agent(tmp_path: Path, checked: Site) -> None:
    text = re.sub("<Cluster[^>]*>", "cluster", user_data_of(checked)[0])
    program = tmp_path / "user-data"
    program.write_text(text)
    subprocess.run(["/bin/bash", "-n", str(program)], check=True)
    assert text.startswith("#!/bin/bash\n")
    assert "@" not in re.sub(r'"\$@"', "", text)
    assert len(text) < 8_000  # EC2 takes 16 KB
    unit = text[text.index("[Service]") :]
    assert unit.splitlines()[:5] == [
        "[Service]",
        "RuntimeDirectory=gpu-check",
        "RuntimeDirectoryPreserve=yes",
        "TimeoutStartSec=20min",
        "ExecStartPre=/usr/local/sbin/gpu-check",
    ]
    assert "\nsystemctl daemon-reload\n" in unit


def test_the_hook_is_there_before_the_first_host(checked: Site) -> None:
    assert checked.properties("AWS::AutoScaling::LifecycleHook") == []
    hooks = [each["Properties"].get("LifecycleHookSpecificationList") for each in groups(checked).values()]
    hook = {
        "LifecycleHookName": "gpu-check",
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
        "DefaultResult": "ABANDON",
        "HeartbeatTimeout": 1800,
    }
    assert hooks == [[hook], None, [hook]]


def test_hosts_may_answer_for_the_groups_of_their_cluster_and_for_no_other(checked: Site) -> None:
    policy = checked.only("AWS::IAM::Policy")
    complete, find, count = policy["PolicyDocument"]["Statement"]
    assert complete["Action"] == "autoscaling:CompleteLifecycleAction"
    named = [arn["Fn::Join"][1][-1] for arn in complete["Resource"]]
    keys = sorted(key for key in groups(checked) if key.startswith(("ClusterC0", "ClusterC2")))
    assert named == [f":autoScalingGroup:*:autoScalingGroupName/Stack-{key}-*" for key in keys]
    assert (find["Action"], find["Resource"]) == ("autoscaling:DescribeAutoScalingInstances", "*")
    assert count["Action"] == "cloudwatch:PutMetricData"
    assert count["Condition"] == {"StringEquals": {"cloudwatch:namespace": "GpuConstructs"}}
    assert len(policy["Roles"]) == 1


def test_no_host_starts_before_it_may_answer(checked: Site) -> None:
    """CloudFormation may wait for the first hosts of a group, which wait for the permission: so it comes first."""
    (policy,) = resources(checked.template(), "AWS::IAM::Policy")
    waiting = [policy in each.get("DependsOn", []) for each in groups(checked).values()]
    assert waiting == [True, False, True]


def test_the_alarm_is_on_what_the_hosts_publish_and_takes_actions(site: Site) -> None:
    capacity = site.capacity("g6.xlarge", check_gpus_at_boot=True)
    assert capacity.boot_check is not None
    capacity.boot_check.alarm.add_alarm_action(actions.SnsAction(sns.Topic(site.stack, "Topic")))
    alarm = site.only("AWS::CloudWatch::Alarm")
    (group,) = resources(site.template(), "AWS::AutoScaling::AutoScalingGroup")
    assert (alarm["Namespace"], alarm["MetricName"]) == ("GpuConstructs", "HostsWithMissingGpus")
    assert alarm["Dimensions"] == [{"Name": "AutoScalingGroupName", "Value": {"Ref": group}}]
    assert (alarm["Statistic"], alarm["Threshold"]) == ("Sum", 1)
    assert (alarm["ComparisonOperator"], alarm["TreatMissingData"]) == ("GreaterThanOrEqualToThreshold", "notBreaching")
    assert len(alarm["AlarmActions"]) == 1


AMI = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"instance_types": ["m7i.large"]}, "its hosts have no GPUs"),
        ({"instance_types": ["inf2.xlarge"]}, "devices, which nvidia-smi does not count"),
        ({"instance_types": ["g5g.xlarge"]}, "Bottlerocket has no shell"),
        ({"image": GpuMachineImage.pinned("bottlerocket-ecs-2-nvidia-x86_64")}, "Bottlerocket has no shell"),
        ({"image": GpuMachineImage.pinned("al2-gpu")}, "Amazon Linux 2 is past its end of life"),
        (
            {"image": GpuMachineImage.custom(AMI, operating_system=OperatingSystem.BOTTLEROCKET, driver_branch=580)},
            "Bottlerocket has no shell",
        ),
        (
            {"scaling": HostScaling(warm_hosts=WarmHosts(hosts=1, state="Running"))},
            "leave a warm pool of state Running",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused(ground: Ground, arguments: dict[str, Any], words: str) -> None:
    given = {"instance_types": ["g6.xlarge"], "max_instances": 2, "check_gpus_at_boot": True, **arguments}
    before = ground.cluster.node.children
    with pytest.raises(IncompatibleError, match=words) as refused:
        ground.cluster.add_capacity("L4", **given)
    assert refused.value.argument == "check_gpus_at_boot"
    assert refused.value.fix
    assert len(ground.cluster.node.children) == len(before)


def test_a_reader_of_the_template_sees_it(checked: Site) -> None:
    found = fleet_of(read_stacks([checked.app.synth().directory]).stacks).pools
    assert [each.group.checks_gpus for each in found] == [True, False, True]
    assert [each.pool.group.checks_gpus for each in checked.cluster.capacities if isinstance(each, GpuCapacity)] == [
        True,
        False,
        True,
    ]
    assert all(each.user_data.complete for each in found)

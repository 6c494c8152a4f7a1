"""Hosts prove their GPUs before they take tasks: the script in a real shell, and what is defined around it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns as sns

from gpu_constructs import GpuMachineImage, HostScaling, IncompatibleError
from gpu_constructs.capacity.boot_check import boot_commands
from gpu_constructs.capacity.warm_hosts import WarmHosts
from gpu_constructs.fleet import Origin, Pool
from gpu_constructs.hardware import OperatingSystem, instance_type
from gpu_constructs.template import fleet_of, read_stacks
from gpu_constructs.template.model import Resource, Value
from gpu_constructs.template.resources.purchases import own_metadata
from tests.capacity.booting_host import BootingHost
from tests.rules.given import a_pool
from tests.synthesis import Properties, Site, user_data

needs_curl = pytest.mark.skipif(shutil.which("curl", path="/usr/bin:/bin") is None, reason="no curl")

# As nvidia-smi prints indices with --format=csv,noheader; a GPU that fell off the bus is a line of another kind.
FOUR = "0\n1\n2\n3\n"
LOST = "0\n1\n2\nUnable to determine the device handle for GPU3: 0000:00:1E.0: Unknown Error\n"
NONE = "No devices were found\n"


def pool_of(name: str, **changes: Any) -> Pool:
    return a_pool(instance_types=(instance_type(name),), checks_gpus=True, **changes)


def script_for(name: str) -> str:
    lines = boot_commands(pool_of(name))
    start = lines.index("cat <<'EOF' > /usr/local/sbin/gpu-check") + 1
    return "\n".join(lines[start : lines.index("EOF", start)]) + "\n"


G6 = script_for("g6.12xlarge")  # four L4


@needs_curl
def test_a_host_with_all_gpus_starts_its_agent(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR])
    assert host.start_agent(G6)
    assert host.actions == ["CompleteLifecycleAction"]
    assert host.calls[-1] == {
        "host": "autoscaling.us-east-1.amazonaws.com",
        "Action": "CompleteLifecycleAction",
        "Version": "2011-01-01",
        "LifecycleHookName": "gpu-check",
        "AutoScalingGroupName": "Stack-ClusterL4GroupASG-1A2B3C",
        "InstanceId": "i-0123456789abcdef0",
        "LifecycleActionResult": "CONTINUE",
    }
    assert (host.switched, host.pauses) == ([], 0)


@needs_curl
@pytest.mark.parametrize("found", [LOST, NONE, None, "", "4 GPUs\n"])
def test_a_host_without_one_is_counted_abandoned_and_powered_off(tmp_path: Path, found: str | None) -> None:
    host = BootingHost(tmp_path, smi=[found])
    assert not host.start_agent(G6)
    metric, completed = (each for each in host.calls if each["Action"] != "DescribeAutoScalingInstances")
    assert completed["LifecycleActionResult"] == "ABANDON"
    assert metric == {
        "host": "monitoring.us-east-1.amazonaws.com",
        "Action": "PutMetricData",
        "Version": "2010-08-01",
        "Namespace": "GpuConstructs",
        "MetricData.member.1.MetricName": "HostsWithMissingGpus",
        "MetricData.member.1.Value": "1",
        "MetricData.member.1.Unit": "Count",
        "MetricData.member.1.Dimensions.member.1.Name": "AutoScalingGroupName",
        "MetricData.member.1.Dimensions.member.1.Value": "Stack-ClusterL4GroupASG-1A2B3C",
    }
    assert host.switched == ["--no-block poweroff"]


@needs_curl
def test_a_driver_that_loads_late_is_waited_for(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[None, NONE, "0\n", FOUR])
    assert host.start_agent(G6)
    assert host.pauses == 3


@needs_curl
def test_it_does_not_wait_for_ever(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[NONE])
    assert not host.start_agent(G6)
    assert host.pauses == 15


@needs_curl
def test_an_answer_before_the_group_waits_would_be_lost(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], states=["Pending", "Pending", "Pending:Wait"])
    assert host.start_agent(G6)
    assert (host.actions, host.pauses) == (["CompleteLifecycleAction"], 2)


@needs_curl
def test_a_refused_answer_is_repeated_until_the_permission_is_there(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], refusals=2)
    assert host.start_agent(G6)
    assert host.actions == ["CompleteLifecycleAction"] * 3


@needs_curl
def test_without_an_answer_the_agent_does_not_start_and_the_host_stays_for_another_try(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], refusals=99)
    assert not host.start_agent(G6)
    assert host.switched == []
    host.refusals = 0
    assert host.start_agent(G6)


@needs_curl
def test_a_missing_gpu_is_counted_once_however_often_the_answer_is_refused(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[LOST], refusals=1)
    assert not host.start_agent(G6)
    assert host.actions.count("PutMetricData") == 1


@needs_curl
def test_a_host_in_service_has_nothing_to_complete_and_leaves_when_a_gpu_is_missing(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], states=["InService"])
    assert host.start_agent(G6)
    assert host.actions == []
    host.reboot()
    host.smi = [LOST]
    assert not host.start_agent(G6)
    assert (host.actions, host.switched) == (["PutMetricData"], ["--no-block poweroff"])


@needs_curl
def test_an_agent_that_restarts_under_running_tasks_is_not_stopped(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR])
    assert host.start_agent(G6)
    before = len(host.calls)
    host.smi = [LOST]
    assert host.start_agent(G6)
    assert len(host.calls) == before


@needs_curl
def test_a_host_from_the_warm_pool_answers_twice(tmp_path: Path) -> None:
    host = BootingHost(tmp_path, smi=[FOUR], states=["Warmed:Pending:Wait"])
    assert host.start_agent(G6)
    host.reboot()
    host.states = ["Pending:Wait"]
    assert host.start_agent(G6)
    assert host.actions == ["CompleteLifecycleAction"] * 2


@pytest.mark.parametrize(
    ("name", "gpus"),
    [("g6.xlarge", 1), ("g6f.large", 1), ("g5.24xlarge", 4), ("p5.48xlarge", 8), ("p5.4xlarge", 1), ("p3.16xlarge", 8)],
)
def test_as_many_gpus_as_the_type_has_are_expected(name: str, gpus: int) -> None:
    assert re.findall(r'"\$gpus" -ge (\d+)', script_for(name)) == [str(gpus)] * 2


def test_the_whole_user_data_is_a_script_that_puts_the_check_before_the_agent(tmp_path: Path, site: Site) -> None:
    site.capacity("g6.12xlarge", check_gpus_at_boot=True)
    text = re.sub("<Cluster[^>]*>", "cluster", user_data(site.launch_template()))
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


def test_the_hook_is_there_before_the_first_host(site: Site) -> None:
    site.capacity("g6.xlarge", check_gpus_at_boot=True, min_instances=1)
    assert site.properties("AWS::AutoScaling::LifecycleHook") == []
    assert site.only("AWS::AutoScaling::AutoScalingGroup")["LifecycleHookSpecificationList"] == [
        {
            "LifecycleHookName": "gpu-check",
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
            "DefaultResult": "ABANDON",
            "HeartbeatTimeout": 1800,
        }
    ]


def test_nothing_of_it_is_there_by_default(site: Site) -> None:
    capacity = site.capacity("g6.xlarge")
    assert capacity.boot_check is None
    assert "LifecycleHookSpecificationList" not in site.only("AWS::AutoScaling::AutoScalingGroup")
    assert site.properties("AWS::IAM::Policy") == []
    assert site.properties("AWS::CloudWatch::Alarm") == []
    assert "gpu-check" not in user_data(site.launch_template())


def test_hosts_may_answer_for_the_groups_of_their_cluster_and_for_no_other(site: Site) -> None:
    for number in range(3):
        site.capacity("g6.xlarge", name=f"C{number}", check_gpus_at_boot=number != 1)
    policy = site.only("AWS::IAM::Policy")
    complete, find, count = policy["PolicyDocument"]["Statement"]
    assert complete["Action"] == "autoscaling:CompleteLifecycleAction"
    named = [arn["Fn::Join"][1][-1] for arn in complete["Resource"]]
    checked = sorted(key for key in groups(site) if key.startswith(("ClusterC0", "ClusterC2")))
    assert named == [f":autoScalingGroup:*:autoScalingGroupName/Stack-{key}-*" for key in checked]
    assert (find["Action"], find["Resource"]) == ("autoscaling:DescribeAutoScalingInstances", "*")
    assert count["Action"] == "cloudwatch:PutMetricData"
    assert count["Condition"] == {"StringEquals": {"cloudwatch:namespace": "GpuConstructs"}}
    assert len(policy["Roles"]) == 1


def resources(template: Properties, kind: str) -> dict[str, Properties]:
    return {key: each for key, each in template["Resources"].items() if each["Type"] == kind}


def groups(site: Site) -> dict[str, Properties]:
    return resources(site.template(), "AWS::AutoScaling::AutoScalingGroup")


def test_no_host_starts_before_it_may_answer(site: Site) -> None:
    """CloudFormation may wait for the first hosts of a group, which wait for the permission: so it comes first."""
    site.capacity("g6.xlarge", name="Checked", check_gpus_at_boot=True, min_instances=1)
    site.capacity("g6.xlarge", name="Plain")
    (policy,) = resources(site.template(), "AWS::IAM::Policy")
    waiting = {key for key, each in groups(site).items() if policy in each.get("DependsOn", [])}
    assert [key.startswith("ClusterChecked") for key in waiting] == [True]


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
def test_what_cannot_be_checked_is_refused(site: Site, arguments: dict[str, Any], words: str) -> None:
    given = {"instance_types": ["g6.xlarge"], "max_instances": 2, "check_gpus_at_boot": True, **arguments}
    before = site.cluster.node.children
    with pytest.raises(IncompatibleError, match=words) as refused:
        site.cluster.add_capacity("L4", **given)
    assert refused.value.argument == "check_gpus_at_boot"
    assert refused.value.fix
    assert len(site.cluster.node.children) == len(before)


def test_a_type_that_is_only_known_at_deploy_time_has_no_number_of_gpus(site: Site) -> None:
    token = cdk.CfnParameter(site.stack, "Type").value_as_string
    with pytest.raises(IncompatibleError, match="how many GPUs its hosts must find"):
        site.capacity(token, image=GpuMachineImage.pinned("al2023-gpu"), check_gpus_at_boot=True)


def test_an_ami_of_ones_own_is_checked_too(site: Site) -> None:
    image = GpuMachineImage.custom(AMI, driver_branch=580)
    capacity = site.capacity("g6.xlarge", image=image, check_gpus_at_boot=True)
    assert capacity.boot_check is not None


def test_a_refused_capacity_leaves_nothing(site: Site) -> None:
    site.capacity("g6.xlarge", check_gpus_at_boot=True)
    before = site.children()
    with pytest.raises(IncompatibleError):
        site.capacity("g5g.xlarge", name="Arm", check_gpus_at_boot=True)
    assert site.children() == before


@pytest.mark.parametrize("checks", [True, False])
def test_a_reader_of_the_template_sees_it(site: Site, *, checks: bool) -> None:
    held = site.capacity("g6.xlarge", check_gpus_at_boot=checks).pool
    (found,) = fleet_of(read_stacks([site.app.synth().directory]).stacks).pools
    assert held.group.checks_gpus is found.group.checks_gpus is checks
    assert found.user_data.complete


@pytest.mark.parametrize("metadata", [{}, {"gpu-constructs": "x"}, {"gpu-constructs": {"ChecksGpus": "true"}}])
def test_other_metadata_says_nothing(metadata: dict[str, Value]) -> None:
    group = Resource(
        logical_id="Group",
        type="AWS::AutoScaling::AutoScalingGroup",
        stack="Stack",
        properties={},
        metadata=metadata,
        origin=Origin(resource="Group"),
    )
    assert own_metadata(group).get("ChecksGpus") is not True

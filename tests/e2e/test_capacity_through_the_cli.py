"""Hosts that are warm, scheduled and checked, deployed and destroyed by the real CDK command line from plain L1s."""

from __future__ import annotations

import os
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from .account import Account
from .cdk_cli import Cdk
from .inventory import inventory
from .server import ACCOUNT, REGION, ROOT, Emulator

pytestmark = pytest.mark.e2e

STACK = "warm"
USER_DATA = """#!/bin/bash
cat << 'EOF' > /var/lib/cloud/scripts/per-boot/gpus
test "$(nvidia-smi -L | wc -l)" = 1 && result=CONTINUE || result=ABANDON
aws autoscaling complete-lifecycle-action --lifecycle-action-result "$result"
EOF
echo ECS_WARM_POOLS_CHECK=true >> /etc/ecs/ecs.config
echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config"""


def assembly(directory: Path) -> Path:
    app = cdk.App(outdir=str(directory), builtin_cloud_formation_validation=False)
    stack = cdk.Stack(app, STACK, env=cdk.Environment(account=ACCOUNT, region=REGION))
    vpc = ec2.CfnVPC(stack, "Vpc", cidr_block="10.0.0.0/16")
    subnet = ec2.CfnSubnet(stack, "Subnet", vpc_id=vpc.ref, cidr_block="10.0.0.0/24")
    cluster = ecs.CfnCluster(stack, "Cluster")
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    role.add_to_policy(iam.PolicyStatement(actions=["autoscaling:CompleteLifecycleAction"], resources=["*"]))
    profile = iam.CfnInstanceProfile(stack, "Profile", roles=[role.role_name])
    template = ec2.CfnLaunchTemplate(
        stack,
        "LaunchTemplate",
        launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
            image_id="ami-own",
            instance_type="g6.xlarge",
            iam_instance_profile=ec2.CfnLaunchTemplate.IamInstanceProfileProperty(arn=profile.attr_arn),
            user_data=cdk.Fn.base64(cdk.Fn.sub(USER_DATA, {"Cluster": cluster.ref})),
        ),
    )
    group = autoscaling.CfnAutoScalingGroup(
        stack,
        "Group",
        min_size="0",
        max_size="3",
        vpc_zone_identifier=[subnet.ref],
        launch_template=autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
            launch_template_id=template.ref, version=template.attr_latest_version_number
        ),
    )
    autoscaling.CfnWarmPool(stack, "WarmPool", auto_scaling_group_name=group.ref, max_group_prepared_capacity=2)
    autoscaling.CfnLifecycleHook(
        stack,
        "Hook",
        auto_scaling_group_name=group.ref,
        lifecycle_transition="autoscaling:EC2_INSTANCE_LAUNCHING",
        default_result="ABANDON",
        heartbeat_timeout=600,
    )
    autoscaling.CfnScheduledAction(
        stack,
        "Up",
        auto_scaling_group_name=group.ref,
        desired_capacity=1,
        start_time="2026-01-02T00:00:00Z",
    )
    cdk.CfnOutput(stack, "ClusterName", value=cluster.ref)
    cdk.CfnOutput(stack, "GroupName", value=group.ref)
    app.synth()
    return directory


@pytest.mark.xdist_group("story")
def test_warm_scheduled_and_checked_hosts_deploy_run_and_go(
    running: Emulator, account: Account, tmp_path: Path
) -> None:
    assert Cdk.is_installed(), "no `cdk` on the PATH; `make setup` installs it"
    command_line = Cdk(project=ROOT, work=tmp_path, environment=running.environment(os.environ))
    made = assembly(tmp_path / "assembly")
    command_line.bootstrap(made)
    before = inventory(account.client)
    outputs = command_line.deploy(made, STACK)
    pool = account.client("autoscaling").describe_warm_pool(AutoScalingGroupName=outputs["GroupName"])["Instances"]

    account.client("ssm").put_parameter(Name="/emulator/now", Value="2026-01-02T00:00:00Z", Type="String")
    looks = [account.hosts(outputs["ClusterName"]) for _ in range(3)]

    assert [item["LifecycleState"] for item in pool] == ["Warmed:Stopped"] * 2
    assert [host.instance_id for host in looks[-1]] == [pool[0]["InstanceId"]]
    account.client("ssm").delete_parameter(Name="/emulator/now")
    command_line.destroy(made, STACK)
    assert inventory(account.client) == before

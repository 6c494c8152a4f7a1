"""What a capacity defines."""

from __future__ import annotations

import inspect

import aws_cdk as cdk
import pytest

from gpu_constructs import (
    CapacityChoice,
    GpuCluster,
    GpuMachineImage,
    HostScaling,
    InvalidValueError,
)
from gpu_constructs.fleet import HostImage
from tests.synthesis import Ground, Site, user_data


@pytest.fixture(scope="module")
def plain(shared_site: Site) -> Site:
    """One capacity of which only the type is chosen."""
    shared_site.capacity("g6.xlarge")
    return shared_site


def test_the_template_is_the_same_under_every_recommended_flag(site: Site, recommended_flags: Site) -> None:
    for each in (site, recommended_flags):
        each.capacity("g6.xlarge", "g6.2xlarge")
    ours = (
        "AWS::EC2::LaunchTemplate",
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::ECS::CapacityProvider",
        "AWS::ECS::ClusterCapacityProviderAssociations",
    )
    for resource_type in ours:
        assert site.properties(resource_type) == recommended_flags.properties(resource_type)


def test_metadata_needs_a_token_and_stops_at_the_host(plain: Site) -> None:
    assert plain.launch_template()["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}


def test_the_root_volume_is_encrypted_gp3_of_100_gib(plain: Site) -> None:
    assert plain.launch_template()["BlockDeviceMappings"] == [
        {
            "DeviceName": "/dev/xvda",
            "Ebs": {"DeleteOnTermination": True, "Encrypted": True, "VolumeSize": 100, "VolumeType": "gp3"},
        }
    ]


def test_hosts_live_in_private_subnets_and_have_a_way_out_from_their_first_to_their_last_moment(site: Site) -> None:
    """Nothing in a VPC of CDK says that its routes come before hosts and go after them."""
    site.make_vpc()
    site.capacity("g6.xlarge", min_instances=1)
    (interface,) = site.launch_template()["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is False
    template = site.template()["Resources"]
    group = site.resource("AWS::AutoScaling::AutoScalingGroup")
    subnets = group["Properties"]["VPCZoneIdentifier"]
    assert len(subnets) == 2
    assert all("PrivateSubnet" in subnet["Ref"] for subnet in subnets)
    waited_for = [template[each]["Type"] for each in group["DependsOn"]]
    assert waited_for.count("AWS::EC2::Route") == waited_for.count("AWS::EC2::SubnetRouteTableAssociation") == 2


def test_nothing_gets_in_and_nobody_has_a_key(plain: Site) -> None:
    assert "SecurityGroupIngress" not in plain.only("AWS::EC2::SecurityGroup")
    assert plain.properties("AWS::EC2::SecurityGroupIngress") == []
    assert "KeyName" not in plain.launch_template()


def test_it_scales_from_zero_and_names_no_desired_capacity(plain: Site) -> None:
    group = plain.only("AWS::AutoScaling::AutoScalingGroup")
    assert (group["MinSize"], group["MaxSize"]) == ("0", "4")
    assert "DesiredCapacity" not in group


def test_managed_scaling_and_draining_are_on_and_protection_that_outlives_a_destroy_is_off(plain: Site) -> None:
    assert plain.only("AWS::ECS::CapacityProvider")["AutoScalingGroupProvider"] == {
        "AutoScalingGroupArn": {"Ref": "ClusterCapacityGroupASG4C96E0D9"},
        "ManagedDraining": "ENABLED",
        "ManagedScaling": {"InstanceWarmupPeriod": 600, "Status": "ENABLED", "TargetCapacity": 100},
        "ManagedTerminationProtection": "DISABLED",
    }
    assert "NewInstancesProtectedFromScaleIn" not in plain.only("AWS::AutoScaling::AutoScalingGroup")


def test_termination_protection_by_choice_says_what_it_costs(site: Site) -> None:
    site.capacity("g6.xlarge", scaling=HostScaling(managed_termination_protection=True))
    assert site.warnings() == []
    provider = site.only("AWS::ECS::CapacityProvider")["AutoScalingGroupProvider"]
    assert provider["ManagedTerminationProtection"] == "ENABLED"
    assert site.only("AWS::AutoScaling::AutoScalingGroup")["NewInstancesProtectedFromScaleIn"] is True
    (told,) = site.findings("GPU007")
    assert "waits until they are terminated by hand" in told


def test_the_agent_is_told_what_to_keep_and_what_to_block(plain: Site) -> None:
    text = user_data(plain.launch_template())
    assert text.startswith(
        "#!/bin/bash\n"
        "cat <<'EOF' >> /etc/ecs/ecs.config\n"
        "ECS_RESERVED_MEMORY=256\n"
        "ECS_AWSVPC_BLOCK_IMDS=true\n"
        "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true\n"
        'ECS_INSTANCE_ATTRIBUTES={"accelerator":"nvidia","gpu.count":"1","gpu.memory-gib":"22","gpu.name":"L4"}\n'
        "EOF\n"
    )
    assert text.endswith("\necho ECS_CLUSTER=<ClusterC2E21B66> >> /etc/ecs/ecs.config")


def test_arm_hosts_run_bottlerocket_and_are_told_in_toml(site: Site) -> None:
    site.capacity("g5g.xlarge")
    template = site.launch_template()
    (parameter,) = [
        value["Default"] for value in site.template()["Parameters"].values() if "bottlerocket" in value["Default"]
    ]
    assert parameter.startswith("/aws/service/bottlerocket/aws-ecs-")
    assert "-nvidia/arm64/" in parameter
    assert user_data(template).strip() == (
        "[settings.ecs]\n"
        'cluster = "<ClusterC2E21B66>"\n'
        "reserved-memory = 256\n"
        "awsvpc-block-imds = true\n"
        "enable-spot-instance-draining = true\n"
        'instance-attributes."accelerator" = "nvidia"\n'
        'instance-attributes."gpu.count" = "1"\n'
        'instance-attributes."gpu.memory-gib" = "16"\n'
        'instance-attributes."gpu.name" = "T4g"'
    )
    system, images = template["BlockDeviceMappings"]
    assert (system["DeviceName"], system["Ebs"]["Encrypted"], "VolumeSize" in system["Ebs"]) == (
        "/dev/xvda",
        True,
        False,
    )
    assert (images["DeviceName"], images["Ebs"]["Encrypted"], images["Ebs"]["VolumeSize"]) == ("/dev/xvdb", True, 100)


def test_hosts_of_a_cluster_have_one_role(site: Site) -> None:
    site.capacity("g6.xlarge")
    site.capacity("g5.xlarge", name="Second")
    assert len(site.properties("AWS::IAM::Role")) == 1


def test_several_types_become_overrides_in_the_order_given(site: Site) -> None:
    site.capacity("g6.2xlarge", "g6.xlarge", "g6.2xlarge")
    group = site.only("AWS::AutoScaling::AutoScalingGroup")
    policy = group["MixedInstancesPolicy"]
    assert [each["InstanceType"] for each in policy["LaunchTemplate"]["Overrides"]] == ["g6.2xlarge", "g6.xlarge"]
    assert all("WeightedCapacity" not in each for each in policy["LaunchTemplate"]["Overrides"])
    assert policy["InstancesDistribution"]["OnDemandAllocationStrategy"] == "prioritized"
    assert "LaunchTemplate" not in group


def test_a_cpu_pool_is_a_capacity_too(site: Site) -> None:
    assert site.capacity("c7i.2xlarge").gpus == 0
    (parameter,) = [value["Default"] for value in site.template()["Parameters"].values() if "ecs" in value["Default"]]
    assert "/amazon-linux-2023/" in parameter
    assert "gpu" not in parameter
    warmup = site.only("AWS::ECS::CapacityProvider")["AutoScalingGroupProvider"]["ManagedScaling"]
    assert warmup["InstanceWarmupPeriod"] == 300


def test_the_image_is_pinned_unless_asked_otherwise(plain: Site) -> None:
    (capacity,) = plain.cluster.capacities
    image = capacity.pool.image
    assert isinstance(image, HostImage)
    assert image.release is not None
    assert image.release in image.ssm_parameter
    assert plain.warnings() == []


def test_a_floating_image_says_so(site: Site) -> None:
    site.capacity("g6.xlarge", image=GpuMachineImage.newest("al2023-gpu"))
    assert site.warnings() == []
    (parameter,) = [value["Default"] for value in site.template()["Parameters"].values() if "gpu" in value["Default"]]
    assert parameter == "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"
    (told,) = site.findings("GPU002")
    assert "any deploy may change the AMI" in told


def test_al2_is_taken_by_name_only_and_its_end_is_said(site: Site) -> None:
    site.capacity("g5.xlarge", image=GpuMachineImage.pinned("al2-gpu"))
    assert any("GPU003" in warning and "2026-06-30" in warning for warning in site.warnings())


def test_an_old_type_works_and_names_a_modern_one_until_that_is_acknowledged_by_id_with_a_reason(site: Site) -> None:
    pool = site.capacity("p3.16xlarge")
    assert pool.gpus == 8
    (warning,) = site.warnings()
    assert "GPU001" in warning
    assert "modern replacement" in warning
    cdk.Validations.of(pool).acknowledge(
        cdk.Acknowledgment(id="gpu-constructs::GPU001", reason="this account has had p3 since 2019")
    )
    assert site.warnings() == []


def test_a_stack_name_that_ecs_reserves_does_not_reach_the_provider(site: Site) -> None:
    stacks = [cdk.Stack(site.app, name) for name in ("ecs-training", "AWS-demo", "FargateTeam")]
    # It takes the name of its parent.
    stacks.append(cdk.NestedStack(cdk.Stack(site.app, "ecs-prod"), "Nested"))
    for stack in stacks:
        other = Site.__new__(Site)
        other.app, other.stack = site.app, stack
        other.capacity("g6.xlarge")
    for stack in stacks:
        (provider,) = site.properties("AWS::ECS::CapacityProvider", stack)
        assert provider["Name"].startswith("cp-"), stack.stack_name


def test_tokens_pass_and_are_marked_as_not_known(site: Site) -> None:
    type_ = cdk.CfnParameter(site.stack, "Type")
    pool = site.capacity(
        type_.value_as_string, max_instances=site.number("MaxHosts"), image=GpuMachineImage.pinned("al2023-gpu")
    )
    (warning,) = site.warnings()
    assert site.only("AWS::AutoScaling::AutoScalingGroup")["MaxSize"] == {"Ref": "MaxHosts"}
    assert site.launch_template()["InstanceType"] == {"Ref": "Type"}
    assert pool.pool.has_unknown_types
    assert "GPU005" in warning


def test_a_type_that_is_a_token_needs_an_image(ground: Ground) -> None:
    type_ = cdk.CfnParameter(ground.stack, "Type")
    with pytest.raises(InvalidValueError, match="context instead of a parameter"):
        ground.capacity(type_.value_as_string)


def test_a_choice_takes_what_add_capacity_takes() -> None:
    """One definition for type checkers and editors to read, and one for the library to hand on."""
    asked = dict(inspect.signature(GpuCluster.add_capacity).parameters)
    del asked["self"]
    assert asked == dict(inspect.signature(CapacityChoice).parameters)

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    InstanceRequirements,
    Pool,
    PoolKind,
    PurchaseOption,
    Subnet,
)
from tests.template.resources.declared import fleet, mixed, of, only_pool, pool_of_data, resource

OPTIMIZED = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu"
BOTTLEROCKET = "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64"


def names(pool: Pool) -> list[str]:
    return [each.name for each in pool.instance_types]


group = partial(resource, "AutoScaling::AutoScalingGroup")
provider = partial(resource, "ECS::CapacityProvider")
configuration = partial(resource, "AutoScaling::LaunchConfiguration")


def template(**data: Any) -> dict[str, Any]:
    return resource("EC2::LaunchTemplate", LaunchTemplateData=data)


def test_overrides_come_in_their_order_and_replace_the_type_of_the_template() -> None:
    pool = pool_of_data(
        {"InstanceType": "g5.xlarge"},
        mixed({"InstanceType": "g6.2xlarge"}, {"InstanceType": "g6.xlarge"}, {"InstanceType": "g6.2xlarge"}),
    )
    assert names(pool) == ["g6.2xlarge", "g6.xlarge"]


def test_an_override_without_a_type_has_that_of_its_launch_template() -> None:
    own = {"LaunchTemplateSpecification": of("Template"), "WeightedCapacity": "1"}
    assert names(pool_of_data({"InstanceType": "g5.xlarge"}, mixed({"InstanceType": "g6.xlarge"}, own))) == [
        "g6.xlarge",
        "g5.xlarge",
    ]


@pytest.mark.parametrize("unit", ["vcpu", {"Ref": "P"}])
def test_sizes_in_vcpus_are_unknown_hosts(unit: object) -> None:
    sizes = {"DesiredCapacityType": unit, "MinSize": "4", "MaxSize": "48"}
    pool = pool_of_data({"InstanceType": "g6.xlarge"}, sizes)
    assert (pool.min_instances, pool.max_instances) == (UNKNOWN, UNKNOWN)


@pytest.mark.parametrize("weights", [(2, 2), (1, 4)])
def test_what_a_host_counts_in_a_group_with_weights_is_unknown(weights: tuple[int, int]) -> None:
    overrides = [
        {"InstanceType": name, "WeightedCapacity": str(each)}
        for name, each in zip(("g6.xlarge", "g6.2xlarge"), weights, strict=True)
    ]
    pool = pool_of_data({}, {**mixed(*overrides), "MinSize": "0", "MaxSize": "8"})
    assert (pool.max_instances, pool.group.capacity_of_a_host) == (8, UNKNOWN)


def test_overrides_with_an_image_of_their_own_leave_the_image_unknown() -> None:
    pool = pool_of_data(
        {"ImageId": f"resolve:ssm:{OPTIMIZED}/recommended/image_id", "InstanceType": "g6.xlarge"},
        mixed({}, {"InstanceType": "g5g.xlarge", "LaunchTemplateSpecification": of("Arm")}),
        Arm=template(ImageId=f"resolve:ssm:{BOTTLEROCKET}/latest/image_id"),
    )
    assert (pool.image, names(pool)) == (UNKNOWN, ["g6.xlarge", "g5g.xlarge"])


def test_types_that_are_tokens_or_in_no_catalogue_are_told_apart() -> None:
    pool = pool_of_data(
        {}, mixed({"InstanceType": {"Ref": "Type"}}, {"InstanceType": "g5.gigantic"}, {"InstanceType": "g6.xlarge"})
    )
    assert (names(pool), pool.unknown_type_names, pool.has_unknown_types) == (["g6.xlarge"], ("g5.gigantic",), True)


def test_overrides_that_are_only_known_at_deploy_time_are_unknown_types() -> None:
    policy = mixed()
    policy["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] = {"Unknown": 0}
    pool = pool_of_data({"InstanceType": "g6.xlarge"}, policy)
    assert (names(pool), pool.has_unknown_types) == ([], True)


def test_types_may_be_described_by_what_they_must_be() -> None:
    wanted = {
        "VCpuCount": {"Min": 4, "Max": "8"},
        "MemoryMiB": {"Min": 0},
        "AcceleratorCount": {"Min": 1, "Max": 1},
        "AcceleratorManufacturers": ["nvidia"],
        "AllowedInstanceTypes": ["g6.*"],
    }
    pool = pool_of_data(
        {"ImageId": f"resolve:ssm:{OPTIMIZED}/recommended/image_id"}, mixed({"InstanceRequirements": wanted})
    )
    assert names(pool) == ["g6.xlarge", "g6.2xlarge"]
    assert isinstance(pool.requirements, InstanceRequirements)
    assert (pool.requirements.vcpus, pool.requirements.allowed_instance_types) == ((4, 8), ("g6.*",))


def test_bare_metal_is_only_chosen_where_it_is_asked_for() -> None:
    wanted = {"VCpuCount": {"Min": 96}, "MemoryMiB": {"Min": 0}, "AllowedInstanceTypes": ["g4dn.*"]}
    assert names(pool_of_data({"InstanceRequirements": wanted})) == []
    assert names(pool_of_data({"InstanceRequirements": {**wanted, "BareMetal": "included"}})) == ["g4dn.metal"]


@pytest.mark.parametrize("change", [{"VCpuCount": {"Min": {"Ref": "P"}}}, {"AcceleratorNames": [{"Ref": "P"}]}])
def test_requirements_with_a_piece_of_the_deploy_in_them_select_nothing_that_is_known(change: Any) -> None:
    pool = pool_of_data({"InstanceRequirements": {"AcceleratorCount": {"Min": 1}, **change}})
    assert (pool.instance_types, pool.has_unknown_types, pool.requirements) == ((), True, None)


@pytest.mark.parametrize(
    ("written", "scaling", "protection"),
    [
        ({"ManagedScaling": {"Status": "ENABLED"}}, True, False),
        ({"ManagedScaling": {"TargetCapacity": 80}}, UNKNOWN, False),
        ({"ManagedScaling": {"Status": {"Ref": "P"}}, "ManagedTerminationProtection": {"Ref": "P"}}, UNKNOWN, UNKNOWN),
        ({"ManagedTerminationProtection": "ENABLED"}, False, True),
    ],
)
def test_a_provider_says_whether_ecs_scales_and_protects(written: Any, scaling: Any, protection: Any) -> None:
    pool = only_pool({"Provider": provider(AutoScalingGroupProvider=written)})
    assert (pool.managed_scaling, pool.managed_termination_protection) == (scaling, protection)


def test_a_provider_over_a_group_of_another_file_is_a_pool_of_which_little_is_known() -> None:
    arn = "arn:aws:autoscaling:us-east-1:1:autoScalingGroup:x:autoScalingGroupName/gpu"
    pool = only_pool({"Provider": provider(Name="gpu", AutoScalingGroupProvider={"AutoScalingGroupArn": arn})})
    assert (pool.provider, pool.has_unknown_types, pool.max_instances, pool.image) == ("gpu", True, UNKNOWN, UNKNOWN)
    assert pool.bought.option is UNKNOWN
    assert pool.cluster is UNKNOWN


def test_a_launch_configuration_is_read_and_said_to_be_one() -> None:
    pool = only_pool(
        {
            "Config": configuration(InstanceType="p3.2xlarge", SpotPrice="1.0", ImageId="ami-1"),
            "Group": group(LaunchConfigurationName={"Ref": "Config"}, MinSize=1, MaxSize=2),
            "Provider": provider(AutoScalingGroupProvider={"AutoScalingGroupArn": {"Fn::GetAtt": ["Group", "Arn"]}}),
        }
    )
    assert (pool.launch_configuration, pool.bought.option, names(pool)) == (True, PurchaseOption.SPOT, ["p3.2xlarge"])


def test_a_group_that_nothing_ties_to_ecs_is_no_pool() -> None:
    data = {"InstanceType": "g6.xlarge", "ImageId": "ami-1", "UserData": "#!/bin/bash\necho hello"}
    assert fleet({"T": template(**data), "Group": group(LaunchTemplate=of("T"), MaxSize=1)}).pools == ()


def test_an_instance_with_a_cluster_in_its_user_data_is_a_pool_of_one() -> None:
    user_data = "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"
    host = resource("EC2::Instance", InstanceType="g6.xlarge", UserData=user_data)
    pool = only_pool({"Host": host, "Other": resource("EC2::Instance", InstanceType="t3.micro")})
    assert (pool.name, pool.kind, pool.cluster) == ("Host", PoolKind.INSTANCE, "gpu")
    assert (pool.min_instances, pool.max_instances, pool.zones, pool.has_provider) == (1, 1, 1, False)


@pytest.mark.parametrize(
    ("properties", "subnets"),
    [
        ({"VPCZoneIdentifier": ["subnet-0a1b2c3d", "moon"]}, (Subnet(id="subnet-0a1b2c3d"), Subnet())),
        ({"VPCZoneIdentifier": [{"Ref": "A"}]}, (Subnet(zone="us-east-1a"),)),
        ({"AvailabilityZones": ["us-east-1a", {"Unknown": 0}]}, (Subnet(zone="us-east-1a"), Subnet())),
    ],
)
def test_subnets_are_read_as_far_as_they_are_written(properties: Any, subnets: tuple[Subnet, ...]) -> None:
    subnet = resource("EC2::Subnet", AvailabilityZone="us-east-1a")
    assert pool_of_data({"InstanceType": "g6.xlarge"}, properties, A=subnet).subnets == subnets


def test_the_commands_of_cfn_init_name_the_cluster() -> None:
    joins = {"command": "echo ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"}
    found = fleet(
        {
            "Cluster": resource("ECS::Cluster", ClusterName="gpu"),
            "Launch": {
                **configuration(InstanceType="g6.xlarge", UserData="#!/bin/bash\n/opt/aws/bin/cfn-init -r Launch\n"),
                "Metadata": {"AWS::CloudFormation::Init": {"config": {"commands": {"join": joins}}}},
            },
            "Group": group(LaunchConfigurationName={"Ref": "Launch"}, MinSize=1, MaxSize=1),
        }
    )
    (pool,) = found.pools
    assert (pool.cluster, pool.user_data.get("ECS_CLUSTER")) == ("Cluster", "gpu")

"""A cluster of its own, or one that the app already has."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from gpu_constructs import (
    GpuCluster,
    GpuService,
    HostNetwork,
    IncompatibleError,
    InvalidValueError,
    UnknownNameError,
)
from tests.synthesis import Site, unwritten, user_data

ASSOCIATIONS = "AWS::ECS::ClusterCapacityProviderAssociations"


def test_a_new_cluster_has_enhanced_container_insights(site: Site) -> None:
    assert site.cluster.capacities == ()
    assert site.only("AWS::ECS::Cluster")["ClusterSettings"] == [{"Name": "containerInsights", "Value": "enhanced"}]


def test_adding_a_capacity_changes_no_other_resource(site: Site) -> None:
    other = Site(cdk.App())
    for each in (site, other):
        each.capacity("g6.xlarge", name="One")
        each.task(each.cluster.capacities[0]).add_gpu_container("train", image=each.image)
    other.capacity("g5.xlarge", name="Two")
    before, after = site.template()["Resources"], other.template()["Resources"]
    changed = [logical_id for logical_id in before if before[logical_id] != after.get(logical_id)]
    assert [before[logical_id]["Type"] for logical_id in changed] == [ASSOCIATIONS]
    added = {resource["Type"] for logical_id, resource in after.items() if logical_id not in before}
    assert added == {"AWS::EC2::LaunchTemplate", "AWS::AutoScaling::AutoScalingGroup", "AWS::ECS::CapacityProvider"}


def test_a_family_becomes_one_capacity_for_each_shape(site: Site) -> None:
    family = site.cluster.add_family("g6", max_instances=2)
    assert list(family) == [1, 4, 8]
    assert [each.node.id for each in family.values()] == ["g6-1", "g6-4", "g6-8"]
    assert {each.name for each in family[4].pool.instance_types} == {"g6.12xlarge", "g6.24xlarge"}
    assert len(site.properties("AWS::ECS::CapacityProvider")) == 3
    assert site.cluster.capacities == tuple(family.values())


@pytest.mark.parametrize(
    ("family", "error", "message"),
    [
        ("g66", UnknownNameError, "did you mean g6"),
        ("g6.xlarge", UnknownNameError, "did you mean g6"),
        ("", InvalidValueError, "such as g6"),
        ("p2", IncompatibleError, "Kepler"),
        ("c7i", InvalidValueError, "no accelerators"),
    ],
)
def test_a_family_that_cannot_work_leaves_nothing_behind(
    untouched: Site, family: str, error: type[Exception], message: str
) -> None:
    cluster = untouched.cluster
    with untouched.refuses(error, match=message):
        cluster.add_family(family, max_instances=1)
    assert cluster.capacities == ()


def test_fargate_beside_gpus_stays_in_the_one_list(site: Site) -> None:
    theirs = ecs.Cluster(site.stack, "Theirs", vpc=site.vpc, enable_fargate_capacity_providers=True)
    GpuCluster(site.stack, "Gpu", cluster=theirs).add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    listed = site.only(ASSOCIATIONS)["CapacityProviders"]
    assert listed[:2] == ["FARGATE", "FARGATE_SPOT"]
    assert len(listed) == 3


def test_an_imported_cluster_and_vpc_take_capacity(site: Site) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack,
        "Vpc",
        vpc_id="vpc-12345",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-1", "subnet-2"],
    )
    imported = ecs.Cluster.from_cluster_attributes(site.stack, "Theirs", cluster_name="theirs", vpc=vpc)
    gpu = GpuCluster(site.stack, "Gpu", cluster=imported)
    gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    gpu.add_capacity("Arm", instance_types=["g5g.xlarge"], max_instances=1)
    association = site.only(ASSOCIATIONS)
    assert association["Cluster"] == "theirs"
    assert len(association["CapacityProviders"]) == 2
    assert site.properties("AWS::ECS::Cluster") == []
    told = [user_data(each["LaunchTemplateData"]) for each in site.properties("AWS::EC2::LaunchTemplate")]
    assert "EOF\necho ECS_CLUSTER=theirs >> /etc/ecs/ecs.config\n" in told[0]
    assert told[1].strip().startswith('[settings.ecs]\ncluster = "theirs"\nreserved-memory')
    assert site.properties("AWS::AutoScaling::AutoScalingGroup")[0]["VPCZoneIdentifier"] == ["subnet-1", "subnet-2"]


def test_a_list_that_is_written_over_that_of_an_imported_cluster_is_a_warning(site: Site) -> None:
    imported = ecs.Cluster.from_cluster_attributes(site.stack, "Theirs", cluster_name="theirs", vpc=site.vpc)
    gpu = GpuCluster(site.stack, "Gpu", cluster=imported)
    gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    (warning,) = site.warnings()
    assert "GPU195" in warning
    assert "the whole list of capacity providers and the default strategy of the cluster theirs" in warning


@pytest.mark.parametrize("owner_first", [True, False])
def test_a_cluster_keeps_its_list_to_its_own_stack_or_to_one_other(site: Site, owner_first: bool) -> None:
    other = GpuCluster(cdk.Stack(site.app, "Other"), "Gpu", cluster=site.cluster.cluster)
    pair = [site.cluster, other] if owner_first else [other, site.cluster]
    pair[0].add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    with pytest.raises(IncompatibleError, match="already writes the list"):
        pair[1].add_capacity("A10G", instance_types=["g5.xlarge"], max_instances=1)


def test_two_wrappers_of_one_cluster_in_its_own_stack_share_its_list_and_its_capacity(site: Site) -> None:
    again = GpuCluster(site.stack, "Again", cluster=site.cluster.cluster)
    again.add_capacity("A10G", instance_types=["g5.xlarge"], max_instances=1)
    task = site.task(site.l4)
    task.add_gpu_container("chat", image=site.image)
    GpuService(site.stack, "Service", cluster=again, task_definition=task)
    assert len(site.only(ASSOCIATIONS)["CapacityProviders"]) == 2


def test_a_vpc_without_private_subnets_is_refused_unless_subnets_are_chosen(site: Site) -> None:
    public = ec2.Vpc(
        site.stack,
        "Public",
        restrict_default_security_group=False,
        subnet_configuration=[ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)],
    )
    with unwritten(), pytest.raises(InvalidValueError, match="no private subnets with a way out"):
        GpuCluster(site.stack, "Refused", vpc=public)
    chosen = GpuCluster(
        site.stack, "Gpu", vpc=public, vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    )
    chosen.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    assert "the hosts get no public address to use it" in site.findings("GPU228")[-1]


def test_a_subnet_group_that_the_vpc_does_not_have_is_refused_with_the_ones_that_it_has(site: Site) -> None:
    words = r"vpc_subnets: the VPC has no subnet group 'Privat'; it has Public, Private; fix: did you mean Private\?"
    with pytest.raises(UnknownNameError, match=words):
        GpuCluster(site.stack, "Gpu", vpc=site.vpc, vpc_subnets=ec2.SubnetSelection(subnet_group_name="Privat"))


def test_zones_that_are_only_known_at_deploy_time_are_a_warning_for_hosts_with_efa(site: Site) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack,
        "Vpc of another app",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=cdk.Fn.get_azs(),
        private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    )
    cluster = GpuCluster(site.stack, "Gpu", vpc=vpc)
    cluster.add_capacity("P5", instance_types=["p5.48xlarge"], max_instances=2, network=HostNetwork.efa())
    assert any("GPU095" in each and "only known at deploy time" in each for each in site.warnings())


def test_more_providers_than_a_cluster_takes_are_one_warning(site: Site) -> None:
    for number in range(21):
        assert len(site.cluster.capacities) == number
        site.capacity("g6.xlarge", name=f"C{number}")
    (warning,) = site.warnings()
    assert "GPU013" in warning
    assert "21 capacity providers, and the service quota is 20" in warning


def test_stages_that_name_no_account_keep_their_clusters_apart(site: Site) -> None:
    for name in ("Dev", "Prod"):
        stack = cdk.Stack(cdk.Stage(site.app, name), "Stack")
        vpc = ec2.Vpc.from_vpc_attributes(
            stack, "Vpc", vpc_id="vpc-12345678", availability_zones=["a"], private_subnet_ids=["subnet-12345678"]
        )
        shared = ecs.Cluster.from_cluster_attributes(stack, "Shared", cluster_name="shared", vpc=vpc)
        GpuCluster(stack, "Gpu", cluster=shared).add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)


def test_hosts_are_granted_more_through_their_role_and_reached_through_their_group(site: Site) -> None:
    site.capacity("g6.xlarge")
    site.cluster.host_role.add_to_policy(iam.PolicyStatement(actions=["s3:ListBucket"], resources=["*"]))
    site.cluster.host_security_group.add_ingress_rule(ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.tcp(9400))
    (policy,) = site.properties("AWS::IAM::Policy")
    assert policy["PolicyDocument"]["Statement"][0]["Action"] == "s3:ListBucket"
    (opened,) = site.only("AWS::EC2::SecurityGroup")["SecurityGroupIngress"]
    assert (opened["CidrIp"], opened["FromPort"]) == ("10.0.0.0/8", 9400)


def test_a_cluster_that_was_imported_by_its_arn_serves_too(site: Site) -> None:
    arn = "arn:aws:ecs:us-east-1:000000000000:cluster/theirs"
    imported = ecs.Cluster.from_cluster_arn(site.stack, "Theirs", arn)
    with unwritten(), pytest.raises(InvalidValueError, match="vpc: a cluster that was imported by its ARN alone"):
        GpuCluster(site.stack, "Refused", cluster=imported)
    gpu = GpuCluster(site.stack, "Gpu", cluster=imported, vpc=site.vpc)
    task = site.task(gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1))
    task.add_gpu_container("chat", image=site.image)
    GpuService(site.stack, "Service", cluster=gpu, task_definition=task)
    assert len(site.only(ASSOCIATIONS)["CapacityProviders"]) == 1

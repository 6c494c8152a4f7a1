"""A cluster that was there before keeps what it has; one list of providers has one writer, with a default strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_ssm as ssm

from gpu_constructs import (
    GpuCluster,
    GpuService,
    GpuTaskDefinition,
    HostNetwork,
    IncompatibleError,
    InvalidValueError,
)
from gpu_constructs.check.report import check_files
from gpu_constructs.rules import Severity, find_rule
from tests.documented import blocks_of, names_of
from tests.synthesis import Ground, Site

ASSOCIATIONS = "AWS::ECS::ClusterCapacityProviderAssociations"
CPU = ecs.CapacityProviderStrategy(capacity_provider="cpu", weight=1)


def around(site: Site, scope: cdk.Stack | None = None, *, name: str = "theirs", **arguments: Any) -> GpuCluster:
    theirs = ecs.Cluster.from_cluster_attributes(scope or site.stack, "Theirs", cluster_name=name, vpc=site.vpc)
    return GpuCluster(scope or site.stack, "Gpu", cluster=theirs, **arguments)


def test_what_is_named_stays_and_outlives_the_stack(site: Site) -> None:
    gpu = around(site, keep_capacity_providers=["cpu", "FARGATE"], default_strategy=[CPU])
    gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    assert site.warnings() == []
    written = site.resource(ASSOCIATIONS)
    assert written["Properties"]["CapacityProviders"][:2] == ["cpu", "FARGATE"]
    assert len(written["Properties"]["CapacityProviders"]) == 3
    assert written["Properties"]["DefaultCapacityProviderStrategy"] == [{"CapacityProvider": "cpu", "Weight": 1}]
    assert written["DeletionPolicy"] == "Retain"


def test_the_list_is_that_of_before_once_the_capacity_is_gone(site: Site) -> None:
    around(site, keep_capacity_providers=["cpu"], default_strategy=[])
    assert site.resource(ASSOCIATIONS)["Properties"]["CapacityProviders"] == ["cpu"]


def test_a_default_strategy_of_which_nothing_is_said_is_a_warning(site: Site) -> None:
    gpu = around(site, keep_capacity_providers=["cpu"])
    gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    (warning,) = site.warnings()
    assert "a deployment replaces the default strategy of the cluster theirs" in warning
    assert "default_strategy=[…]" in warning


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [({"keep_capacity_providers": ["cpu"]}, "keep_capacity_providers"), ({"default_strategy": []}, "default_strategy")],
)
def test_a_cluster_of_this_stack_needs_no_word_of_what_it_keeps(
    ground: Ground, arguments: dict[str, Any], argument: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"{argument}: a cluster of this stack keeps what it has"):
        GpuCluster(ground.stack, "Gpu", vpc=ground.vpc, **arguments)


@pytest.mark.parametrize(
    "name",
    [
        lambda _: cdk.Fn.import_value("shared-cluster"),
        lambda stack: ssm.StringParameter.value_for_string_parameter(stack, "/shared/cluster"),
    ],
)
def test_two_stacks_that_import_one_cluster_cannot_both_write_its_list(
    site: Site, name: Callable[[cdk.Stack], str]
) -> None:
    first, second = (
        around(site, stack, name=name(stack)) for stack in (cdk.Stack(site.app, each) for each in ("First", "Second"))
    )
    first.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    with site.refuses(IncompatibleError, match="stack First already writes the list"):
        second.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)


def test_a_list_that_somebody_else_writes_in_the_same_stack_is_a_warning(site: Site) -> None:
    around(site, keep_capacity_providers=[], default_strategy=[]).add_capacity(
        "L4", instance_types=["g6.xlarge"], max_instances=1
    )
    ecs.CfnClusterCapacityProviderAssociations(
        site.stack, "Other", cluster="theirs", capacity_providers=["FARGATE"], default_capacity_provider_strategy=[]
    )
    assert "the cluster theirs has a second list of capacity providers, and the list that is deployed last wins" in (
        site.findings("GPU195")
    )


def test_a_list_of_plain_cdk_that_comes_after_ours_is_a_warning(site: Site) -> None:
    theirs = ecs.Cluster(site.stack, "Theirs", vpc=site.vpc)
    elsewhere = cdk.Stack(site.app, "Elsewhere")
    GpuCluster(elsewhere, "Gpu", cluster=theirs).add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    theirs.enable_fargate_capacity_providers()
    assert len(site.findings("GPU195")) == 1


def test_a_list_in_another_stack_is_refused_unless_ours_keeps_all_of_it(site: Site) -> None:
    elsewhere, all_of_it = cdk.Stack(site.app, "Elsewhere"), ["FARGATE", "FARGATE_SPOT"]
    one, other = (ecs.Cluster(site.stack, each, enable_fargate_capacity_providers=True) for each in ("One", "Other"))
    GpuCluster(elsewhere, "Gpu", cluster=one, keep_capacity_providers=all_of_it, default_strategy=[])
    assert site.findings("GPU195") == []
    with pytest.raises(IncompatibleError, match="already writes the list.*name what plain CDK lists there"):
        GpuCluster(elsewhere, "Less", cluster=other, keep_capacity_providers=all_of_it[:1], default_strategy=[])


def test_a_name_is_there_once_in_a_cluster(site: Site) -> None:
    gpu = around(site, keep_capacity_providers=["cpu"], default_strategy=[])
    with pytest.raises(InvalidValueError, match="already called"):
        gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, capacity_provider_name="cpu")


def test_a_default_strategy_starts_hosts_for_tasks_that_are_started_without_one(site: Site) -> None:
    site.cluster.set_default_strategy([site.l4.strategy()])
    task = site.task()
    task.add_gpu_container("chat", image=site.image)
    rule = events.Rule(site.stack, "Nightly", schedule=events.Schedule.rate(cdk.Duration.days(1)))
    rule.add_target(targets.EcsTask(cluster=site.cluster.cluster, task_definition=task))
    (item,) = site.only(ASSOCIATIONS)["DefaultCapacityProviderStrategy"]
    assert item["Weight"] == 1
    (target,) = site.only("AWS::Events::Rule")["Targets"]
    assert "LaunchType" not in target["EcsParameters"]


def test_the_default_strategy_of_an_imported_cluster_may_be_of_what_was_added(site: Site) -> None:
    gpu = around(site, keep_capacity_providers=["cpu"])
    l4 = gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    gpu.set_default_strategy([l4.strategy(), CPU])
    first, second = site.resource(ASSOCIATIONS)["Properties"]["DefaultCapacityProviderStrategy"]
    assert first["CapacityProvider"] != second["CapacityProvider"] == "cpu"


def test_a_default_strategy_that_ecs_refuses_is_refused(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    elsewhere = GpuCluster(site.stack, "Elsewhere", vpc=site.vpc)
    ada = elsewhere.add_capacity("Ada", instance_types=["g6e.xlarge"], max_instances=1)
    theirs = (
        r"strategy: the strategy of a task without one names Ada, a capacity provider of the cluster Stack/Elsewhere"
    )
    for others, message in (
        ([ada.strategy()], f"{theirs}.*GPU217"),
        ([ecs.CapacityProviderStrategy(capacity_provider="FARGATE", weight=1)], "either Fargate or Auto Scaling"),
        ([managed.strategy()], "GPU140"),
        ([CPU], "CDK refuses it: .*cpu must be added"),
    ):
        with pytest.raises(Exception, match=message):
            site.cluster.set_default_strategy([site.l4.strategy(), *others])
    site.cluster.set_default_strategy([site.l4.strategy()])
    with pytest.raises(InvalidValueError, match="the cluster has a default strategy already"):
        site.cluster.set_default_strategy([site.l4.strategy()])


def test_a_new_cluster_takes_what_cdks_takes(site: Site) -> None:
    GpuCluster(
        site.stack,
        "Gpu",
        vpc=site.vpc,
        cluster_name="inference",
        container_insights_v2=ecs.ContainerInsights.DISABLED,
        enable_fargate_capacity_providers=True,
        default_cloud_map_namespace=ecs.CloudMapNamespaceOptions(name="inference.local"),
        execute_command_configuration=ecs.ExecuteCommandConfiguration(logging=ecs.ExecuteCommandLogging.NONE),
    )
    made = site.only("AWS::ECS::Cluster")
    assert made["ClusterName"] == "inference"
    assert made["ClusterSettings"] == [{"Name": "containerInsights", "Value": "disabled"}]
    assert made["Configuration"] == {"ExecuteCommandConfiguration": {"Logging": "NONE"}}
    assert site.only(ASSOCIATIONS)["CapacityProviders"] == ["FARGATE", "FARGATE_SPOT"]
    assert site.only("AWS::ServiceDiscovery::PrivateDnsNamespace")["Name"] == "inference.local"


def test_hosts_in_public_subnets_get_an_address_on_request(site: Site) -> None:
    public = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    gpu = GpuCluster(site.stack, "Gpu", vpc=site.vpc, vpc_subnets=public, associate_public_ip_address=True)
    capacity = gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    assert site.warnings() == []
    (interface,) = site.launch_template()["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is True
    assert capacity.pool.way_out.lacks_public_address is False
    private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    inside = gpu.add_capacity("Inside", instance_types=["g6.xlarge"], max_instances=1, vpc_subnets=private)
    assert inside.pool.interfaces[0].public_address is False


def test_a_family_has_a_network_and_subnets(site: Site) -> None:
    subnet = ec2.SubnetSelection(subnets=[site.vpc.private_subnets[0]])
    family = site.cluster.add_family("p5", max_instances=2, network=HostNetwork.efa(), vpc_subnets=subnet)
    for capacity in family.values():
        assert capacity.efa_security_group is not None
        assert capacity.pool.zones == 1


def test_subnets_and_groups_of_another_network_are_refused(site: Site) -> None:
    site.make_vpc()
    other = ec2.Vpc(site.stack, "Other", max_azs=1)
    there = ec2.SubnetSelection(subnets=other.private_subnets)
    with pytest.raises(InvalidValueError, match="Stack/Other/PrivateSubnet1 is a subnet of another VPC than Stack/Vpc"):
        site.capacity("g6.xlarge", vpc_subnets=there)
    one_zone = ec2.SubnetSelection(subnets=[site.vpc.private_subnets[0]])
    for name, vpc in (("There", other), ("Here", site.vpc)):
        network = HostNetwork.efa(security_group=ec2.SecurityGroup(site.stack, name, vpc=vpc))
        if vpc is site.vpc:
            site.capacity("p5.48xlarge", network=network, vpc_subnets=one_zone)
        else:
            with pytest.raises(IncompatibleError, match="Stack/There is a security group of another VPC"):
                site.capacity("p5.48xlarge", name="Apart", network=network, vpc_subnets=one_zone)


def test_a_cluster_and_a_service_are_in_one_region_and_account(site: Site) -> None:
    east, west = (
        cdk.Stack(site.app, name, env=cdk.Environment(account="111111111111", region=region))
        for name, region in (("East", "us-east-1"), ("West", "us-west-2"))
    )
    arn = "arn:aws:ecs:us-east-1:111111111111:cluster/theirs"
    vpc = ec2.Vpc(west, "Vpc")
    with pytest.raises(IncompatibleError, match="the cluster is in region us-east-1, and stack West in us-west-2"):
        GpuCluster(west, "Gpu", vpc=vpc, cluster=ecs.Cluster.from_cluster_arn(west, "Theirs", arn))
    gpu = GpuCluster(east, "Gpu", vpc=ec2.Vpc(east, "Vpc"), cluster_name="ours")
    l4 = gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, capacity_provider_name="l4")
    task = GpuTaskDefinition(west, "Task", capacity=[l4])
    task.add_gpu_container("chat", image=site.image)
    with pytest.raises(IncompatibleError, match="the cluster is in region us-east-1, and stack West in us-west-2"):
        GpuService(west, "Service", cluster=gpu, task_definition=task)
    for scope, said in (
        (cdk.Stage(site.app, "Later"), "the cluster is in the app itself, and is used in stage Later"),
        (cdk.App(), "the cluster is in another app"),
    ):
        with pytest.raises(IncompatibleError, match=said) as error:
            GpuService(cdk.Stack(scope, "Apart"), "Service", cluster=gpu, task_definition=task)
        assert error.value.argument == "cluster"


def test_user_data_that_ec2_refuses_is_an_error(site: Site) -> None:
    user_data = site.l4.launch_template.user_data
    assert user_data is not None
    user_data.add_commands(*(f"echo {line:060}" for line in range(300)))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        site.app.synth()
    assert len(check_files([site.app.outdir], rules=[find_rule("GPU231")]).findings) == 1


def test_the_app_of_three_stacks_is_held_together_by_imports_and_has_nothing_to_report() -> None:
    page = "docs/existing-clusters.md"
    (block,) = (each for each in blocks_of(page) if "class Services(Stack)" in each)
    names = names_of(page, block)
    folder = names["app"].synth().directory
    assert {each.stack_name for each in names["services"].dependencies} == {"Network", "Hosts"}
    report = check_files([folder])
    assert [each.message for each in report.findings if each.severity is not Severity.INFO] == []
    assert {each.name for each in report.fleet.workloads} == {"ChatService", "WebService"}
    assert {item.pool.name for each in report.fleet.workloads for item in each.strategy if item.pool} == {
        "Cluster/L4",
        "Cluster/Cpu",
    }

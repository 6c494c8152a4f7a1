"""Updates that AWS refuses, the emulator refuses in its words, and takes back what it did until then."""

from __future__ import annotations

import copy
import json

import pytest
from botocore.exceptions import ClientError
from ecs_emulator.local import Local, NotDeployedError

from tests.e2e.templates import Template, cluster_template, resource, service, task_definition


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("ECS::CapacityProvider", "'AWS::ECS::CapacityProvider' with identifier 'mine' already exists"),
        ("ElasticLoadBalancingV2::TargetGroup", "when a custom-named resource requires replacing. Rename mine"),
    ],
)
def test_a_replacement_under_the_same_custom_name_is_taken_back(cloud: Local, named: str, said: str) -> None:
    template = cluster_template()
    template["Resources"]["Provider"]["Properties"]["Name"] = "mine"
    template["Resources"]["Targets"] = resource(
        "ElasticLoadBalancingV2::TargetGroup", Name="mine", Port=80, Protocol="HTTP", VpcId={"Ref": "Vpc"}
    )
    stack = cloud.deploy(template)
    renamed = copy.deepcopy(template)
    if named.endswith("Provider"):
        renamed["Resources"]["Group"]["Properties"]["AutoScalingGroupName"] = "another"
    else:
        renamed["Resources"]["Targets"]["Properties"]["Port"] = 81

    with pytest.raises(NotDeployedError, match=f"UPDATE_ROLLBACK_COMPLETE.*{said}"):
        cloud.update(stack, renamed)

    names = {each for kind, each in cloud.inventory() if kind == "auto scaling group"}
    assert names == {stack.outputs["Group"]}
    cloud.destroy(stack)


def exporting(*names: str, **queue: str) -> Template:
    """Exports of a queue each."""
    return {
        "Resources": {name: resource("SQS::Queue", **queue) for name in names},
        "Outputs": {name: {"Value": {"Ref": name}, "Export": {"Name": {"Fn::Sub": f"of-{name}"}}} for name in names},
    }


def importing(name: str) -> Template:
    value = {"Fn::ImportValue": {"Fn::Join": ["-", ["of", name]]}}
    return {"Resources": {"Value": resource("SSM::Parameter", Name="read", Type="String", Value=value)}}


def test_an_export_in_use_stays_as_it_is_until_nobody_imports_it(cloud: Local) -> None:
    producer = cloud.deploy(exporting("A", "B"), "producer")
    consumer = cloud.deploy(importing("A"), "consumer")

    with pytest.raises(NotDeployedError, match="E: Export of-A cannot be deleted as it is in use by consumer$"):
        cloud.update(producer, exporting("B"))
    with pytest.raises(NotDeployedError, match="E: Export of-A cannot be updated as it is in use by consumer$"):
        cloud.update(producer, exporting("A", QueueName="other"))
    with pytest.raises(NotDeployedError, match="ROLLBACK_COMPLETE: Export of-A cannot be deleted as it is in use"):
        cloud.destroy(producer)
    assert cloud.update(producer, exporting("A", "B", "C")).outputs.items() > producer.outputs.items()
    cloud.update(consumer, importing("B"))
    cloud.update(producer, exporting("B"))

    cloud.destroy(consumer)
    cloud.destroy(producer)


def test_a_failed_update_is_taken_back_unless_the_request_says_to_keep_it(cloud: Local) -> None:
    template = cluster_template()
    template["Resources"]["Service"] = service(count=1)
    stack = cloud.deploy(template)
    cluster = stack.outputs["Cluster"]
    (before,) = cloud.account.tasks(cluster)
    wrong = copy.deepcopy(template)
    wrong["Resources"]["Task"] = task_definition(gpus=8)  # which no host has
    wrong["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]["InstanceType"] = "g6.2xlarge"
    formation = cloud.account.client("cloudformation")

    with pytest.raises(NotDeployedError, match=r"UPDATE_ROLLBACK_COMPLETE: Service .* service not stable"):
        cloud.update(stack, wrong)
    (after,) = cloud.account.tasks(cluster)
    assert (after.family, after.status) == (before.family, "RUNNING")
    assert cloud.update(stack, {**template, "Description": "the same"}).outputs == stack.outputs

    formation.update_stack(StackName=stack.id, TemplateBody=json.dumps(wrong), DisableRollback=True)
    (described,) = formation.describe_stacks(StackName=stack.id)["Stacks"]
    assert described["StackStatus"] == "UPDATE_FAILED"
    cloud.update(stack, template)
    assert [each.status for each in cloud.account.tasks(cluster)] == ["RUNNING"]
    cloud.destroy(stack)


def test_a_failed_create_is_kept_until_the_next_operation_where_the_request_says_so(cloud: Local) -> None:
    template = cluster_template()
    template["Resources"]["Service"] = service(count=1)
    wrong = copy.deepcopy(template)
    wrong["Resources"]["Task"] = task_definition(gpus=8)  # which no host has
    formation = cloud.account.client("cloudformation")

    stack = formation.create_stack(StackName="kept", TemplateBody=json.dumps(wrong), DisableRollback=True)["StackId"]

    (listed,) = formation.list_stacks(StackStatusFilter=["CREATE_FAILED"])["StackSummaries"]
    assert (listed["StackName"], listed["StackStatus"]) == ("kept", "CREATE_FAILED")
    ecs = cloud.account.client("ecs")
    (cluster,) = ecs.list_clusters()["clusterArns"]
    (failed,) = ecs.list_services(cluster=cluster)["serviceArns"]
    formation.update_stack(StackName=stack, TemplateBody=json.dumps(template))
    (described,) = formation.describe_stacks(StackName=stack)["Stacks"]
    assert described["StackStatus"] == "UPDATE_COMPLETE"
    assert failed not in ecs.list_services(cluster=cluster)["serviceArns"]
    assert [each.status for each in cloud.account.tasks(cluster)] == ["RUNNING"]
    formation.delete_stack(StackName=stack)


GROUP = ("LaunchTemplate", "MaxSize", "MinSize", "VPCZoneIdentifier")


def balanced(*balancers: str, forwards: str) -> Template:
    """Load balancers of which the last forwards to a target group that stays."""
    resources = {"Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16")}
    for place in (0, 1):
        resources[f"Subnet{place}"] = resource(
            "EC2::Subnet",
            VpcId={"Ref": "Vpc"},
            CidrBlock=f"10.0.{place}.0/24",
            AvailabilityZone=f"us-east-1{'ab'[place]}",
        )
    resources["Targets"] = resource(
        "ElasticLoadBalancingV2::TargetGroup", Port=80, Protocol="HTTP", VpcId={"Ref": "Vpc"}, TargetType="ip"
    )
    forward = [{"Type": "forward", "TargetGroupArn": {"Ref": "Targets"}}]
    answer = [{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404"}}]
    for name in balancers:
        resources[name] = resource(
            "ElasticLoadBalancingV2::LoadBalancer", Subnets=[{"Ref": "Subnet0"}, {"Ref": "Subnet1"}], Scheme="internal"
        )
        is_last = name == balancers[-1]
        resources[f"{name}Http"] = resource(
            "ElasticLoadBalancingV2::Listener",
            LoadBalancerArn={"Ref": name},
            Port=80,
            Protocol="HTTP",
            DefaultActions=forward if is_last and forwards == "listener" else answer,
        )
        if is_last and forwards == "rule":
            resources["Rule"] = resource(
                "ElasticLoadBalancingV2::ListenerRule",
                ListenerArn={"Ref": f"{name}Http"},
                Priority=1,
                Conditions=[{"Field": "path-pattern", "PathPatternConfig": {"Values": ["/v1/*"]}}],
                Actions=forward,
            )
    return {"Resources": resources}


@pytest.mark.parametrize("forwards", ["listener", "rule"])
def test_a_target_group_does_not_move_to_another_balancer_in_one_deploy(cloud: Local, forwards: str) -> None:
    stack = cloud.deploy(balanced("First", forwards=forwards))

    with pytest.raises(NotDeployedError, match="cannot be associated with more than one load balancer: arn:aws:el"):
        cloud.update(stack, balanced("Second", forwards=forwards))

    cloud.update(stack, balanced("First", forwards="nowhere"))
    cloud.update(stack, balanced("First", "Second", forwards=forwards))
    cloud.destroy(stack)


@pytest.mark.parametrize(
    "named",
    [
        resource("ECS::Cluster", ClusterName="mine"),
        resource("ECS::Service", ServiceName="mine", Cluster={"Ref": "Cluster"}, TaskDefinition={"Ref": "Task"}),
        resource("IAM::Role", RoleName="mine", AssumeRolePolicyDocument={"Version": "2012-10-17", "Statement": []}),
        resource("Logs::LogGroup", LogGroupName="mine"),
        resource("SecretsManager::Secret", Name="mine", SecretString="x"),
        resource("EC2::SecurityGroup", GroupName="mine", GroupDescription="x", VpcId={"Ref": "Vpc"}),
        resource("ElasticLoadBalancingV2::TargetGroup", Name="mine", Port=80, Protocol="HTTP", VpcId={"Ref": "Vpc"}),
        resource("EC2::LaunchTemplate", LaunchTemplateName="mine", LaunchTemplateData={"InstanceType": "g6.xlarge"}),
        resource(
            "AutoScaling::AutoScalingGroup",
            AutoScalingGroupName="mine",
            **{key: cluster_template()["Resources"]["Group"]["Properties"][key] for key in GROUP},
        ),
        resource("ECR::Repository", RepositoryName="mine"),
        resource("Events::Rule", Name="mine", ScheduleExpression="rate(1 day)"),
        resource("SNS::Topic", TopicName="mine"),
        resource("SQS::Queue", QueueName="mine"),
    ],
    ids=lambda each: each["Type"],
)
def test_a_name_that_exists_is_refused_when_its_logical_id_changes(cloud: Local, named: Template) -> None:
    template = cluster_template()
    if named["Type"] == "AWS::ECS::Service":
        named = copy.deepcopy(named)
        named["Properties"]["DesiredCount"] = 0
    template["Resources"]["Before"] = named
    stack = cloud.deploy(template)
    template["Resources"]["After"] = template["Resources"].pop("Before")

    with pytest.raises(NotDeployedError, match=r"UPDATE_ROLLBACK_COMPLETE: After .*exist"):
        cloud.update(stack, template)

    cloud.destroy(stack)


def test_stacks_are_updated_by_change_sets_of_one_name_and_taken_back(cloud: Local) -> None:
    """As the command line of the CDK deploys them by default."""
    formation = cloud.account.client("cloudformation")
    stacks = [cloud.deploy({"Resources": {"A": resource("SNS::Topic")}}, name) for name in ("one", "two")]
    wrong = {"Resources": {"Rule": resource("EC2::SecurityGroupIngress", GroupId="sg-gone", IpProtocol="-1")}}
    with pytest.raises(ClientError, match="ChangeSetNotFound"):
        formation.describe_change_set(ChangeSetName="set", StackName="one")

    for name, template in (("one", {"Resources": {"A": resource("SNS::Topic", DisplayName="a")}}), ("two", wrong)):
        formation.delete_change_set(ChangeSetName="set", StackName=name)
        asked = {"ChangeSetType": "UPDATE", "TemplateBody": json.dumps(template)}
        formation.create_change_set(ChangeSetName="set", StackName=name, **asked)
        made = formation.describe_change_set(ChangeSetName="set", StackName=name)
        assert (made["StackName"], made["Status"]) == (name, "CREATE_COMPLETE")
        formation.execute_change_set(ChangeSetName="set", StackName=name)

    ends = [formation.describe_stacks(StackName=each.id)["Stacks"][0]["StackStatus"] for each in stacks]
    assert ends == ["UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"]
    for stack in stacks:
        cloud.destroy(stack)


def much() -> Template:
    """A service with a name, and what else an app has."""
    template = cluster_template()
    resources = template["Resources"]
    rule = {"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "CidrIp": "10.0.0.0/24"}
    resources["Service"] = service(count=1)
    resources["Mine"] = resource(
        "EC2::SecurityGroup", GroupDescription="mine", VpcId={"Ref": "Vpc"}, SecurityGroupIngress=[rule]
    )
    resources["Names"] = resource("ServiceDiscovery::HttpNamespace", Name="names")
    resources["Secret"] = resource("SecretsManager::Secret", Name="secret", SecretString="before")
    resources["Queue"] = resource("SQS::Queue")
    ports = [{"ContainerPort": 80, "Name": "chat"}, {"ContainerPort": 81, "Name": "find"}]
    resources["Task"]["Properties"]["ContainerDefinitions"][0]["PortMappings"] = ports
    resources["Service"]["Properties"]["ServiceConnectConfiguration"] = {
        "Enabled": True,
        "Namespace": {"Fn::GetAtt": ["Names", "Arn"]},
        "Services": [{"PortName": "chat", "ClientAliases": [{"Port": 80}]}],
    }
    template["Outputs"]["Queue"] = {"Value": {"Ref": "Queue"}, "Export": {"Name": "queue"}}
    return template


def much_else() -> Template:
    """The same with a change of each kind: in place, by a replacement, something new and something gone."""
    template = much()
    properties = {name: each["Properties"] for name, each in template["Resources"].items()}
    properties["LaunchTemplate"]["LaunchTemplateData"]["InstanceType"] = "g6.2xlarge"
    properties["Group"]["MaxSize"] = "3"
    properties["Provider"]["AutoScalingGroupProvider"]["ManagedScaling"]["TargetCapacity"] = 90
    properties["Task"]["ContainerDefinitions"][0]["Memory"] = 1024
    properties["Service"]["ServiceConnectConfiguration"]["Services"][0]["PortName"] = "find"
    properties["Mine"]["SecurityGroupIngress"] = []
    properties["Names"]["Name"] = "others"
    properties["Secret"]["SecretString"] = "after"
    properties["Queue"]["QueueName"] = "another"
    template["Resources"]["More"] = resource("SNS::Topic")
    return template


def standing(cloud: Local, cluster: str) -> list[object]:
    """What can be seen of it; tasks and the names of their service are made anew."""
    client = cloud.account.client
    groups = client("ec2").describe_security_groups()["SecurityGroups"]
    anew = {"service of Cloud Map", "instance", "network interface", "volume"}
    return [
        {(kind, name) for kind, name in cloud.inventory() if kind not in anew},
        sorted(each["Name"] for each in client("servicediscovery").list_services()["Services"]),
        sorted((each["GroupId"], len(each["IpPermissions"])) for each in groups),
        client("secretsmanager").get_secret_value(SecretId="secret")["SecretString"],
        {each["Name"]: each["Value"] for each in client("cloudformation").list_exports()["Exports"]},
        [each.status for each in cloud.account.tasks(cluster)],
    ]


@pytest.mark.parametrize("after", ["Cluster", "Queue", "Service"])
def test_whatever_a_failed_update_did_is_taken_back(cloud: Local, after: str) -> None:
    stack = cloud.deploy(much())
    before, wrong = standing(cloud, stack.outputs["Cluster"]), much_else()
    wrong["Resources"]["Bad"] = resource("EC2::SecurityGroupIngress", GroupId="sg-gone", IpProtocol="-1")
    wrong["Resources"]["Bad"]["DependsOn"] = after

    with pytest.raises(NotDeployedError, match=r"UPDATE_ROLLBACK_COMPLETE: Bad \(AWS::EC2::SecurityGroupIngress"):
        cloud.update(stack, wrong)

    assert standing(cloud, stack.outputs["Cluster"]) == before
    cloud.update(stack, much_else())
    cloud.destroy(stack)


def test_a_stack_whose_rollback_failed_can_be_deleted(cloud: Local) -> None:
    template = cluster_template()
    stack = cloud.deploy(template)
    grown = copy.deepcopy(template)
    resources = grown["Resources"]
    for name in ("Group", "Provider"):
        resources[f"{name}2"] = json.loads(json.dumps(resources[name]).replace('"Group"', '"Group2"'))
    resources["Associations"]["Properties"]["CapacityProviders"].append({"Ref": "Provider2"})
    resources["Uses2"] = json.loads(json.dumps(service(count=1)).replace('"Provider"', '"Provider2"'))
    resources["TooMany"] = {**service(count=3), "DependsOn": "Uses2"}  # on two hosts at most
    with pytest.raises(NotDeployedError, match="UPDATE_ROLLBACK_FAILED: Associations .*in use"):
        cloud.update(stack, grown)

    cloud.destroy(stack)
    assert not cloud.inventory()

"""What CloudFormation refuses, the emulator refuses: a stack that would fail there must not pass here."""

from __future__ import annotations

import copy
import json

import pytest
from botocore.exceptions import ClientError
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER
from ecs_emulator.account import Account
from ecs_emulator.local import Local
from ecs_emulator.resource import Resource, registered

from tests.e2e.deployed import Stacks, run
from tests.e2e.templates import Template, cluster_template, resource, task_definition

POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}


def test_all_types_that_nobody_has_are_named_before_a_deploy_begins(stacks: Stacks) -> None:
    known, more = cluster_template(), cluster_template()
    more["Resources"] |= {
        "Quantum": {"Type": "AWS::Braket::Device", "DependsOn": "Provider"},
        "Entangled": {"Type": "AWS::Braket::Device"},
        "Empty": {"Type": "Custom::S3AutoDeleteObjects"},
        "Elsewhere": {"Type": "AWS::Braket::Job", "Condition": "Never"},
    }
    more["Conditions"] = {"Never": {"Fn::Equals": ["a", "b"]}}
    said = r"no resource type AWS::Braket::Device \(Entangled, Quantum\), Custom::S3AutoDeleteObjects \(Empty\)$"

    with pytest.raises(ClientError, match=said):
        stacks.create(more)
    stack = stacks.create(known)
    with pytest.raises(ClientError, match=said):
        stacks.update(stack, more)

    assert stacks.end(stack) == ("CREATE_COMPLETE", "")
    stacks.delete(stack)


def test_resources_that_wait_for_each_other_are_refused_before_a_deploy_begins(stacks: Stacks) -> None:
    template = cluster_template()
    template["Resources"] |= {
        "A": resource("SNS::Topic", DisplayName={"Fn::GetAtt": ["B", "TopicName"]}),
        "B": {**resource("SNS::Topic"), "DependsOn": ["A"]},
    }

    with pytest.raises(ClientError, match=r"Circular dependency between resources: \[(A, B|B, A)\]$"):
        stacks.create(template)


@pytest.mark.parametrize(
    ("made", "attributes"),
    [
        (resource("SecretsManager::Secret", GenerateSecretString={}), ["Id"]),
        (
            resource(
                "SecretsManager::Secret",
                GenerateSecretString={"SecretStringTemplate": '{"user": "me"}', "GenerateStringKey": "key"},
            ),
            ["Id"],
        ),
        (resource("CertificateManager::Certificate", DomainName="a.example"), []),
        (
            resource("FSx::FileSystem", FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[{"Ref": "Subnet"}]),
            ["DNSName", "LustreMountName"],
        ),
        (resource("IAM::ManagedPolicy", PolicyDocument=POLICY), []),
        (resource("Route53::HostedZone", Name="a.example"), []),
    ],
    ids=lambda each: each["Type"] if isinstance(each, dict) else "",
)
def test_it_is_made_and_goes_and_can_be_made_again(cloud: Local, made: Template, attributes: list[str]) -> None:
    resources = {name: cluster_template()["Resources"][name] for name in ("Vpc", "Subnet")} | {"Made": made}
    outputs = {name: {"Value": {"Fn::GetAtt": ["Made", name]}} for name in attributes}
    for _ in range(2):
        stack = cloud.deploy({"Resources": resources, "Outputs": {"Ref": {"Value": {"Ref": "Made"}}, **outputs}})
        assert all(stack.outputs[name] for name in ("Ref", *attributes))
        cloud.destroy(stack)


@pytest.mark.parametrize("name", ["aws-gpu", "ecsGpu", "Fargate-gpu"])
def test_a_reserved_name_fails_the_capacity_provider(stacks: Stacks, name: str) -> None:
    template = cluster_template()
    template["Resources"]["Provider"]["Properties"]["Name"] = name

    stack = stacks.create(template)

    assert "must not begin with" in stacks.end(stack)[1]
    stacks.delete(stack)


def test_termination_protection_needs_protected_instances(stacks: Stacks) -> None:
    template = cluster_template()
    provider = template["Resources"]["Provider"]["Properties"]["AutoScalingGroupProvider"]
    provider["ManagedTerminationProtection"] = "ENABLED"

    stack = stacks.create(template)

    assert "instance protection from scale in" in stacks.end(stack)[1]
    stacks.delete(stack)


def test_protected_instances_keep_their_group_from_being_deleted(stacks: Stacks, account: Account) -> None:
    stack = stacks.create(cluster_template(protected=True))
    outputs = stacks.outputs(stack)
    run(account, outputs)
    account.stop_all(outputs["Cluster"])

    stacks.delete(stack)

    status, reason = stacks.end(stack)
    assert status == "DELETE_FAILED"
    assert "protected from scale-in" in reason
    account.client("autoscaling").set_instance_protection(
        AutoScalingGroupName=outputs["Group"],
        InstanceIds=[host.instance_id for host in account.hosts(outputs["Cluster"])],
        ProtectedFromScaleIn=False,
    )
    stacks.delete(stack)
    assert stacks.end(stack)[0] == "DELETE_COMPLETE"


def test_a_provider_of_a_cluster_and_a_cluster_with_hosts_cannot_be_deleted(stacks: Stacks, account: Account) -> None:
    stack = stacks.create(cluster_template())
    outputs = stacks.outputs(stack)
    run(account, outputs)
    account.stop_all(outputs["Cluster"])
    ecs = account.client("ecs")

    with pytest.raises(ClientError, match="is in use and cannot be removed"):
        ecs.delete_capacity_provider(capacityProvider=outputs["Provider"])
    with pytest.raises(ClientError, match="ClusterContainsContainerInstancesException"):
        ecs.delete_cluster(cluster=outputs["Cluster"])
    stacks.delete(stack)


def test_an_update_follows_references_and_replaces_before_it_deletes(stacks: Stacks, account: Account) -> None:
    template = cluster_template()
    stack = stacks.create(template)
    before = stacks.outputs(stack)

    bigger = copy.deepcopy(template)
    bigger["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]["InstanceType"] = "g6.48xlarge"
    bigger["Resources"]["Task"] = task_definition(gpus=8)
    stacks.update(stack, bigger)
    after = stacks.outputs(stack)
    run(account, after)

    assert stacks.end(stack)[0] == "UPDATE_COMPLETE"
    assert {name for name in after if after[name] != before[name]} == {"Task"}
    assert {host.instance_type for host in account.hosts(after["Cluster"])} == {"g6.48xlarge"}
    assert len(set(account.tasks(after["Cluster"])[0].gpus)) == 8
    account.stop_all(after["Cluster"])
    stacks.delete(stack)


@pytest.mark.parametrize("made", [each for kind, each in registered().items() if kind.startswith("AWS::")])
def test_what_is_replaced_is_what_the_schemas_say(made: type[Resource]) -> None:
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", made.type_name).schema
    only, some, read = (
        {path.removeprefix("/properties/") for path in schema.get(f"{kind}Properties", ())}
        for kind in ("createOnly", "conditionalCreateOnly", "readOnly")
    )
    written = schema["properties"].keys() - read
    replaced = written if "*" in made.create_only else made.create_only & written

    assert replaced <= {path.partition("/")[0] for path in only | some}
    assert replaced >= {path for path in only & written if "/" not in path}


def test_a_weak_reference_reads_the_output_of_another_stack(stacks: Stacks, account: Account) -> None:
    def consuming(output: str) -> Template:
        weak = {"StackName": "producer", "OutputName": output, "Region": {"Ref": "AWS::Region"}}
        value = {"Name": "read", "Type": "String", "Value": {"Fn::GetStackOutput": weak}}
        return {"Resources": {"Value": {"Type": "AWS::SSM::Parameter", "Properties": value}}}

    made = {"Queue": {"Type": "AWS::SQS::Queue"}}
    outputs = {"Arn": {"Value": {"Fn::GetAtt": ["Queue", "Arn"]}}}
    producer = stacks.create({"Resources": made, "Outputs": outputs}, name="producer")
    arn = stacks.outputs(producer)["Arn"]

    consumer, mistaken = stacks.create(consuming("Arn")), stacks.create(consuming("Arm"))

    assert account.client("ssm").get_parameter(Name="read")["Parameter"]["Value"] == arn
    assert "there is no output Arm of a stack producer" in stacks.end(mistaken)[1]
    for stack in (producer, mistaken, consumer):  # a strong reference would keep the producer
        stacks.delete(stack)


def test_a_stack_that_is_made_anew_has_none_of_the_change_sets_of_the_one_before(account: Account) -> None:
    client = account.client("cloudformation")

    def plan(stack: str, kind: str, name: str) -> None:
        body = json.dumps({"Resources": {"Role": resource("SQS::Queue", QueueName=name)}})
        client.create_change_set(StackName=stack, ChangeSetName="cdk", ChangeSetType=kind, TemplateBody=body)

    def planned(stack: str) -> list[str]:
        return [each["StackName"] for each in client.list_change_sets(StackName=stack)["Summaries"]]

    plan("Other", "CREATE", "other")
    plan("X", "CREATE", "one")
    client.execute_change_set(StackName="X", ChangeSetName="cdk")
    client.delete_stack(StackName="X")
    plan("X", "CREATE", "two")
    assert (planned("X"), planned("Other")) == (["X"], ["Other"])
    client.execute_change_set(StackName="X", ChangeSetName="cdk")
    client.delete_change_set(StackName="X", ChangeSetName="cdk")
    with pytest.raises(ClientError, match="does not exist"):
        client.describe_change_set(StackName="X", ChangeSetName="cdk")
    client.delete_stack(StackName="X")
    client.delete_stack(StackName="Other")

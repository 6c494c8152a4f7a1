from __future__ import annotations

import pytest
from ecs_emulator.local import Local, NotDeployedError

from tests.e2e.templates import Template, resource

ALL = {"IpProtocol": "-1"}


def network() -> Template:
    """A VPC with a group whose hosts may talk to each other in both directions, as EFA needs."""
    return {
        "Resources": {
            "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
            "Own": resource(
                "EC2::SecurityGroup",
                GroupDescription="talks to itself",
                VpcId={"Ref": "Vpc"},
                SecurityGroupEgress=[{**ALL, "CidrIp": "255.255.255.255/32", "Description": "nothing"}],
            ),
            "In": resource("EC2::SecurityGroupIngress", GroupId=ref("Own"), SourceSecurityGroupId=ref("Own"), **ALL),
            "Out": resource(
                "EC2::SecurityGroupEgress", GroupId=ref("Own"), DestinationSecurityGroupId=ref("Own"), **ALL
            ),
        },
        "Outputs": {"Own": {"Value": ref("Own")}},
    }


def ref(name: str) -> Template:
    return {"Fn::GetAtt": [name, "GroupId"]}


def rules(cloud: Local, group: str) -> tuple[list[str], list[str]]:
    """Groups that may come in, and groups that one may go out to."""
    (described,) = cloud.account.client("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"]
    ways = (described["IpPermissions"], described["IpPermissionsEgress"])
    into, out = ([pair["GroupId"] for rule in way for pair in rule["UserIdGroupPairs"]] for way in ways)
    return into, out


def test_an_update_drops_a_rule_and_keeps_the_group_and_a_rule_with_another_description(cloud: Local) -> None:
    stack = cloud.deploy(network())
    after = network()
    del after["Resources"]["In"]
    after["Resources"]["Out"]["Properties"]["Description"] = "to itself"

    updated = cloud.update(stack, after)

    assert updated.outputs == stack.outputs
    assert rules(cloud, stack.outputs["Own"]) == ([], [stack.outputs["Own"]])
    cloud.destroy(stack)


def test_a_group_that_the_rules_of_another_name_cannot_be_deleted(cloud: Local) -> None:
    stack = cloud.deploy(network())
    own, ec2 = stack.outputs["Own"], cloud.account.client("ec2")
    default = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": ["default"]}])["SecurityGroups"]
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": own}]}
    ec2.authorize_security_group_ingress(GroupId=default[0]["GroupId"], IpPermissions=[permission])

    with pytest.raises(NotDeployedError, match="has a dependent object"):
        cloud.destroy(stack)

    ec2.revoke_security_group_ingress(GroupId=default[0]["GroupId"], IpPermissions=[permission])
    cloud.destroy(stack)


def test_a_rule_that_exists_is_refused_and_within_its_group_not_noticed(cloud: Local) -> None:
    template = network()
    web = {"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "CidrIp": "10.0.0.0/24"}
    template["Resources"]["Own"]["Properties"]["SecurityGroupIngress"] = [web, {**web, "Description": "again"}]
    stack = cloud.deploy(template)
    template["Resources"]["More"] = resource("EC2::SecurityGroupIngress", GroupId=ref("Own"), **web)
    said = 'the specified rule "peer: 10.0.0.0/24, TCP, from port: 80, to port: 80, ALLOW" already exists'

    with pytest.raises(NotDeployedError, match=said):
        cloud.update(stack, template)

    everything = network()
    everything["Resources"]["More"] = everything["Resources"]["In"]
    with pytest.raises(NotDeployedError, match='the specified rule "peer: sg-[0-9a-f]+, ALL, ALLOW" already exists'):
        cloud.update(stack, everything)
    cloud.destroy(stack)

"""Hosts and services reach what they need, as far as the files show their network and roles."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.changed import changed, custom, endpoint, severities

_ANYWHERE = {"CidrIp": "0.0.0.0/0"}
_CLOSED = {"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86, "CidrIp": "255.255.255.255/32"}


def _ec2(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::EC2::{kind}", "Properties": properties}


def _egress(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"OfHosts": {"SecurityGroupEgress": [*rules]}}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [([_CLOSED], ["error"]), ([{"Fn::ImportValue": "Rule"}], [])],
)
def test_hosts_are_let_out_to_aws(rules: list[dict[str, Any]], expected: list[str]) -> None:
    assert severities("GPU277", _egress(*rules)) == expected


def test_hosts_of_batch_have_their_security_groups_in_its_environment() -> None:
    of_jobs = {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "SecurityGroupIds": [{"Ref": "OfHosts"}]}
    properties = {"Type": "MANAGED", "ComputeResources": of_jobs}
    jobs = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": properties}
    found = changed("GPU277", _egress(_CLOSED), Jobs=jobs)
    assert [each.property_name for each in found] == ["ComputeResources.SecurityGroupIds", "SecurityGroupIds"]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo HTTPS_PROXY=http://10.0.0.5:3128 >> /etc/ecs/ecs.config", []),
        ("echo nothing", ["error"]),
        ("aws s3 cp s3://bucket/setup.sh . && bash setup.sh", ["warning"]),
    ],
)
def test_a_proxy_is_a_way_out(script: str, expected: list[str]) -> None:
    data = {
        "UserData": {
            "Fn::Base64": {"Fn::Sub": f"#!/bin/bash\necho ECS_CLUSTER=${{Cluster}} >> /etc/ecs/ecs.config\n{script}\n"}
        }
    }
    assert severities("GPU277", {"Template": {"LaunchTemplateData": data}, **_egress(_CLOSED)}) == expected
    assert severities("GPU228", {"Template": {"LaunchTemplateData": data}}) == expected


def test_other_groups_and_rules_may_let_hosts_out() -> None:
    data = {"Template": {"LaunchTemplateData": {"SecurityGroupIds": [{"Ref": "OfHosts"}, "sg-1"]}}}
    assert severities("GPU277", data) == []
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, **_ANYWHERE}
    for group in ({"Fn::GetAtt": ["OfHosts", "GroupId"]}, "sg-1"):
        assert severities("GPU277", Rule=_ec2("SecurityGroupEgress", GroupId=group, **rule)) == []


def _interface(*, public: bool) -> dict[str, Any]:
    interface = {"DeviceIndex": 0, "AssociatePublicIpAddress": public}
    return {"Template": {"LaunchTemplateData": {"NetworkInterfaces": [interface]}}}


def _public(**properties: Any) -> dict[str, Any]:
    table = {"Ref": "Routes"}
    route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": {"Ref": "Gateway"}}
    return {"Gateway": _ec2("InternetGateway"), "Out": _ec2("Route", **{**route, **properties})}


@pytest.mark.parametrize(
    ("properties", "route", "expected"),
    [
        ({}, {}, ["error"]),
        ({"Subnet": {"MapPublicIpOnLaunch": False}}, {}, ["error"]),
        ({"Subnet": {"MapPublicIpOnLaunch": True}}, {}, []),
        ({"Subnet": {"MapPublicIpOnLaunch": True}, **_interface(public=False)}, {}, ["error"]),
        (_interface(public=True), {}, []),
        ({}, {"DestinationCidrBlock": None, "DestinationIpv6CidrBlock": "::/0"}, []),
    ],
)
def test_an_internet_gateway_is_for_hosts_with_a_public_address(
    properties: dict[str, Any], route: dict[str, Any], expected: list[str]
) -> None:
    assert severities("GPU228", properties, **_public(**route)) == expected


def _inline(effect: str, *actions: str, **more: Any) -> list[dict[str, Any]]:
    statement = {"Effect": effect, "Action": [*actions], "Resource": "*", **more}
    return [{"PolicyName": "own", "PolicyDocument": {"Statement": [statement]}}]


_SSM = ["policy/AmazonSSMManagedInstanceCore"]
_AGENT = ("ecs:RegisterContainerInstance", "ecs:DiscoverPollEndpoint", "ecs:Poll")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ManagedPolicyArns": _SSM}, ["error"]),
        ({"ManagedPolicyArns": ["policy/AmazonEC2ContainerServiceforEC2Role"]}, []),
        ({"ManagedPolicyArns": _SSM, "Policies": _inline("Allow", *_AGENT)}, []),
        ({"ManagedPolicyArns": _SSM, "Policies": _inline("Allow", *_AGENT[:2])}, ["error"]),
        ({"Policies": _inline("Deny", "ecs:*")}, ["error"]),
        ({"Policies": _inline("Deny", "ecs:*", Condition={"Bool": {"aws:SecureTransport": False}})}, []),
        ({"Policies": _inline("Deny", "ecs:DeleteCluster")}, []),
    ],
)
def test_the_role_of_hosts_lets_them_register(changes: dict[str, Any], expected: list[str]) -> None:
    assert severities("GPU264", {"HostRole": changes}, of="GPU190") == expected


_NOTHING_OF_ECS = {"Type": "AWS::SNS::Topic"}


_ROLE = "arn:aws:iam::123456789012:role/hosts"


@pytest.mark.parametrize(
    ("arn", "command", "expected"),
    [
        (_ROLE, "mdadm --create /dev/md0", ["error"]),
        (_ROLE, "python3 x.py", ["warning"]),
        (_ROLE, "echo AWS_ACCESS_KEY_ID=$KEY >> /etc/ecs/ecs.config", []),
        ({"Fn::ImportValue": "Profile"}, "", []),
    ],
)
def test_hosts_have_credentials_to_register_with(arn: Any, command: str, expected: list[str]) -> None:
    data = {"IamInstanceProfile": {"Arn": arn}, "UserData": {"Fn::Base64": f"#!/bin/bash\n{command}"}}
    assert severities("GPU264", {"Template": {"LaunchTemplateData": data}}) == expected


def test_a_group_with_an_image_of_ecs_may_be_for_something_else() -> None:
    others = dict.fromkeys(("Service", "Association", "Provider", "Task"), _NOTHING_OF_ECS)
    data = {"UserData": {"Fn::Base64": "#!/bin/bash\necho hello"}}
    assert severities("GPU264", {"Template": {"LaunchTemplateData": data}}, **others) == ["warning"]


_TABLE = {"Ref": "Routes"}


def found(**resources: Any) -> list[str]:
    """Messages about the example with other resources; None for one that is left out."""
    written: dict[str, Any] = {name: _NOTHING_OF_ECS if each is None else each for name, each in resources.items()}
    return [each.message for each in changed("GPU228", **written)]


def missing(**resources: Any) -> str:
    """The services that they name."""
    return "".join(each.rpartition("no endpoint open to them for ")[2] for each in found(**resources))


def test_hosts_register_without_telemetry() -> None:
    assert severities("GPU228", A=endpoint("ecs-agent")) == ["warning"]


def test_the_message_names_what_is_missing() -> None:
    assert missing() == "ecs-agent or ecs-telemetry"
    assert missing(EcsEndpoint=None) == "ecs, ecs-agent or ecs-telemetry"
    assert missing(A=endpoint("ecs-agent"), T=endpoint("ecs-telemetry")) == ""
    other = _ec2("VPC", CidrBlock="10.1.0.0/16")
    assert missing(A=endpoint("ecs-agent", {"Ref": "Other"}), Other=other) == "ecs-agent or ecs-telemetry"


@pytest.mark.parametrize(
    ("ingress", "is_closed"), [([80], True), ([443], False), ([80, 443], False), ([], True), (None, False)]
)
def test_the_security_group_of_an_endpoint_lets_hosts_in(ingress: Any, is_closed: bool) -> None:
    rules = [{"IpProtocol": "tcp", "FromPort": each, "ToPort": each, **_ANYWHERE} for each in ingress or ()]
    group = _ec2("SecurityGroup", VpcId={"Ref": "Vpc"}, SecurityGroupIngress=rules)
    agent = endpoint("ecs-agent")
    agent["Properties"]["SecurityGroupIds"] = [{"Ref": "Group"} if ingress is not None else "sg-1"]
    assert missing(Group=group, A=agent, T=endpoint("ecs-telemetry")) == ("ecs-agent" if is_closed else "")
    assert missing(Group=group, A=agent, T=endpoint("ecs-telemetry"), Rules=custom("Group")) == ""
    assert missing(Group=group, A=agent, T=endpoint("ecs-telemetry"), exported="Group") == ""


_PUBLIC, _OTHER, _PRIVATE = {"Ref": "Public"}, {"RouteTableId": {"Ref": "Table"}}, {"ConnectivityType": "private"}
_ONWARD = {
    "Table": _ec2("RouteTable", VpcId={"Ref": "Vpc"}),
    "On": _ec2("SubnetRouteTableAssociation", SubnetId=_PUBLIC, **_OTHER),
    **_public(**_OTHER),
}


@pytest.mark.parametrize(
    ("gateway", "others", "is_closed"),
    [
        ({}, {}, True),
        (_PRIVATE, _ONWARD, True),
        ({}, _ONWARD, False),
        (_PRIVATE, {**_ONWARD, "Far": _ec2("Route", TransitGatewayId="tgw-1", **_OTHER)}, False),
        ({"ConnectivityType": {"Fn::ImportValue": "Type"}}, {}, False),
        ({"SubnetId": {"Fn::ImportValue": "Subnet"}}, {}, False),
    ],
)
def test_a_nat_gateway_leads_out_where_its_own_subnet_does(
    gateway: dict[str, Any], others: dict[str, Any], is_closed: bool
) -> None:
    nat = _ec2("NatGateway", **{"SubnetId": _PUBLIC, **gateway})
    out = _ec2("Route", RouteTableId=_TABLE, NatGatewayId={"Ref": "Nat"})
    messages = found(Nat=nat, ToNat=out, Public=_ec2("Subnet", VpcId={"Ref": "Vpc"}), **others)
    assert ["to NAT gateway Nat, which leads to no internet gateway" in each for each in messages] == [True][:is_closed]


_ACL: Any = {"NetworkAclId": {"Ref": "Acl"}}
_SHUT = {
    "Acl": _ec2("NetworkAcl", VpcId={"Ref": "Vpc"}),
    "Of": _ec2("SubnetNetworkAclAssociation", SubnetId={"Ref": "Subnet"}, **_ACL),
}
_DEAF = {"Vpc": _ec2("VPC", EnableDnsSupport=False)}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (_SHUT, ["error"]),
        ({**_SHUT, "Entry": _ec2("NetworkAclEntry", RuleNumber=100, **_ACL)}, []),
        ({**_SHUT, "Entry": _ec2("NetworkAclEntry", NetworkAclId={"Fn::ImportValue": "Acl"})}, []),
        *(({**_SHUT, "Entries": custom("Acl", each)}, []) for each in ("Custom::Own", "Acme::Net::Entries::MODULE")),
        ({**_SHUT, "Stored": custom("Acl", "AWS::SSM::Parameter", "Value")}, []),
        ({**_SHUT, "Of": {**_SHUT["Of"], "Condition": "Sometimes"}}, []),
        ({**_SHUT, "Other": _ec2("SubnetNetworkAclAssociation", SubnetId={"Ref": "Subnet"}, NetworkAclId="a")}, []),
        ({**_SHUT, **{each: endpoint(each) for each in ("ecs", "ecs-agent", "ecs-telemetry")}}, []),  # in the subnet
        ({**_SHUT, "exported": "Acl"}, []),
        *(({**_SHUT, "exported": each}, ["warning"]) for each in ("Vpc", "Routes")),  # stacks elsewhere may add a way
        ({"Vpc": _ec2("VPC", EnableDnsSupport="false")}, ["warning"]),
        (_DEAF, ["warning"]),  # there may be a DNS server elsewhere
        ({"Vpc": _ec2("VPC", EnableDnsSupport={"Fn::ImportValue": "Dns"})}, []),
        ({**_DEAF, "Options": _ec2("VPCDHCPOptionsAssociation", VpcId={"Ref": "Vpc"}, DhcpOptionsId="dopt-1")}, []),
    ],
)
def test_a_subnet_is_shut_in_spite_of_its_route(others: dict[str, Any], expected: list[str]) -> None:
    out = _ec2("Route", RouteTableId=_TABLE, NatGatewayId="nat-1")
    assert severities("GPU228", Out=out, EcsEndpoint=_NOTHING_OF_ECS, **others) == expected


def test_without_private_dns_the_name_of_a_service_leads_past_its_endpoint() -> None:
    agent, telemetry = endpoint("ecs-agent"), endpoint("ecs-telemetry")
    agent["Properties"] |= {"VpcEndpointType": "Interface", "PrivateDnsEnabled": False}
    assert missing(A=agent, T=telemetry) == "ecs-agent"
    assert missing(A=agent, T=telemetry, Zone={"Type": "AWS::Route53::HostedZone"}) == ""
    agent["Properties"] |= {"VpcEndpointType": "Gateway", "RouteTableIds": {"Fn::ImportValue": "Tables"}}
    assert missing(A=agent, T=telemetry) == ""


def test_a_subnet_without_a_route_table_has_the_main_one_of_its_vpc() -> None:
    alone = found(SubnetRoutes=None, EcsEndpoint=None)
    assert [each.startswith("the subnets of Provider have no route out") for each in alone] == [True]
    of_any = _ec2("SubnetRouteTableAssociation", SubnetId={"Fn::ImportValue": "subnet"}, RouteTableId=_TABLE)
    assert found(SubnetRoutes=of_any, EcsEndpoint=None) == []


@pytest.mark.parametrize(
    "resources",
    [
        {"OfAnother": _ec2("Route", RouteTableId={"Fn::ImportValue": "table"}, NatGatewayId="nat-1")},
        {"Vpn": _ec2("VPNGatewayRoutePropagation", RouteTableIds=[_TABLE], VpnGatewayId="vgw-1")},
        {"Routes": None},
        {"Subnet": None},
        {"Vpc": None},
        {"OfAnother": endpoint("ecs-agent", {"Fn::ImportValue": "vpc"})},
        {"Unnamed": _ec2("VPCEndpoint", VpcId={"Ref": "Vpc"}, ServiceName={"Fn::ImportValue": "service"})},
    ],
    ids=str,
)
def test_a_way_out_or_one_that_may_be_is_enough(resources: dict[str, Any]) -> None:
    assert found(**resources) == []

"""A service answers behind HTTPS in one line, and its balancer reaches the container's port and nothing else."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ecs_patterns as patterns
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from gpu_constructs import IncompatibleError, InvalidValueError, RefusedByCdkError
from gpu_constructs.services.target import target_port_of
from tests.services.chat import PORT, certificate_of, chat
from tests.synthesis import Ground, Site


def attributes(properties: dict[str, Any], key: str) -> dict[str, str]:
    return {each["Key"]: each["Value"] for each in properties[key]}


def test_a_port_that_cdk_added_by_itself_is_found(site: Site) -> None:
    site.make_vpc()
    task = site.task()
    task.add_gpu_container("vllm", image=site.image, port_mappings=[ecs.PortMapping(container_port=9000)])
    patterns.ApplicationMultipleTargetGroupsEc2Service(
        site.stack,
        "Pattern",
        cluster=site.cluster.cluster,
        task_definition=task,
        target_groups=[patterns.ApplicationTargetProps(container_port=PORT)],
    )
    assert target_port_of(task, container_port=PORT).container_port == PORT


def test_one_line_is_https_with_a_redirect_inside_the_vpc(site: Site) -> None:
    site.make_vpc()
    endpoint = chat(site).add_application_load_balancer(
        "Https", certificate=certificate_of(site.stack), health_check_path="/health"
    )
    cdk.CfnOutput(site.stack, "Url", value=endpoint.url)
    listeners = {each["Port"]: each for each in site.properties("AWS::ElasticLoadBalancingV2::Listener")}
    assert sorted(listeners) == [80, 443]
    assert listeners[443]["SslPolicy"] == "ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09"
    assert listeners[80]["DefaultActions"][0]["RedirectConfig"] == {
        "Port": "443",
        "Protocol": "HTTPS",
        "StatusCode": "HTTP_301",
    }
    balancer = site.only("AWS::ElasticLoadBalancingV2::LoadBalancer")
    assert balancer["Scheme"] == "internal"
    settings = attributes(balancer, "LoadBalancerAttributes")
    assert settings["idle_timeout.timeout_seconds"] == "600"
    assert settings["routing.http.drop_invalid_header_fields.enabled"] == "true"
    (group,) = [each for each in site.properties("AWS::EC2::SecurityGroup") if "Https" in each["GroupDescription"]]
    assert {
        (each["CidrIp"].get("Fn::GetAtt", [""])[-1], each["FromPort"]) for each in group["SecurityGroupIngress"]
    } == {
        ("CidrBlock", 80),
        ("CidrBlock", 443),
    }
    targets = site.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    assert (targets["HealthCheckPath"], targets["TargetType"], targets["Port"]) == ("/health", "instance", PORT)
    service = site.only("AWS::ECS::Service")
    assert service["HealthCheckGracePeriodSeconds"] == 600
    assert [(each["ContainerName"], each["ContainerPort"]) for each in service["LoadBalancers"]] == [("vllm", PORT)]
    assert site.template()["Outputs"]["Url"]["Value"]["Fn::Join"][1][0] == "https://"
    assert site.warnings() == []


def test_it_takes_what_a_user_chose(site: Site) -> None:
    stack = cdk.Stack(site.app, "Elsewhere", env=cdk.Environment(account="123456789012", region="eu-west-1"))
    elsewhere = Site.__new__(Site)
    elsewhere.app, elsewhere.stack = site.app, stack
    elsewhere.make_vpc()
    endpoint = chat(elsewhere, mode=ecs.NetworkMode.AWS_VPC).add_application_load_balancer(
        "Https",
        certificate=certificate_of(stack),
        port=8443,
        internet_facing=True,
        redirect_http=False,
        ssl_policy=elbv2.SslPolicy.TLS13_13,
        idle_timeout=cdk.Duration.minutes(30),
        deregistration_delay=cdk.Duration.seconds(20),
        access_logs_bucket=s3.Bucket(stack, "Logs"),
        health_check_path="/ready",
        container_name="vllm",
        container_port=PORT,
    )
    listener = elsewhere.only("AWS::ElasticLoadBalancingV2::Listener")
    assert (listener["Port"], listener["SslPolicy"]) == (8443, "ELBSecurityPolicy-TLS13-1-3-2021-06")
    balancer = elsewhere.only("AWS::ElasticLoadBalancingV2::LoadBalancer")
    assert balancer["Scheme"] == "internet-facing"
    assert all("PublicSubnet" in each["Ref"] for each in balancer["Subnets"])
    settings = attributes(balancer, "LoadBalancerAttributes")
    assert (settings["idle_timeout.timeout_seconds"], settings["access_logs.s3.enabled"]) == ("1800", "true")
    targets = elsewhere.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    assert targets["TargetType"] == "ip"
    assert attributes(targets, "TargetGroupAttributes")["deregistration_delay.timeout_seconds"] == "20"
    assert stack.resolve(endpoint.url)["Fn::Join"][1][-1] == ":8443"


def test_plain_http_is_a_choice(site: Site) -> None:
    endpoint = chat(site).add_application_load_balancer(
        "Http", protocol=elbv2.ApplicationProtocol.HTTP, health_check_path="/health", open=False
    )
    listener = site.only("AWS::ElasticLoadBalancingV2::Listener")
    assert (listener["Port"], listener["Protocol"], "SslPolicy" in listener) == (80, "HTTP", False)
    assert "http://" in str(site.stack.resolve(endpoint.url))


def test_a_load_balancer_of_yours_gets_a_listener(site: Site) -> None:
    balancer = elbv2.ApplicationLoadBalancer(site.stack, "Yours", vpc=site.vpc)
    endpoint = chat(site).add_application_load_balancer(
        "Https", certificate=certificate_of(site.stack), load_balancer=balancer, health_check_path="/health"
    )
    assert endpoint.load_balancer is balancer
    assert [each["Port"] for each in site.properties("AWS::ElasticLoadBalancingV2::Listener")] == [443]


def test_a_load_balancer_of_another_vpc_is_refused(ground: Ground) -> None:
    site = ground
    balancer = elbv2.ApplicationLoadBalancer(site.stack, "Theirs", vpc=ec2.Vpc(site.stack, "Other"))
    service, certificate = chat(site), certificate_of(site.stack)
    before = site.children()
    with pytest.raises(IncompatibleError, match="load_balancer: the load balancer is in VPC Stack/Other, and the serv"):
        service.add_application_load_balancer(
            "Https", certificate=certificate, load_balancer=balancer, health_check_path="/health"
        )
    assert site.children() == before


def _given(scope: Construct, name: str, **attributes: Any) -> elbv2.IApplicationLoadBalancer:
    arn = f"arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/{name}/50dc6c495c0c9188"
    return elbv2.ApplicationLoadBalancer.from_application_load_balancer_attributes(
        scope, name, load_balancer_arn=arn, security_group_id="sg-12345678", **attributes
    )


def test_an_imported_load_balancer_is_known_by_the_id_of_its_vpc(site: Site) -> None:
    vpcs = {
        name: ec2.Vpc.from_vpc_attributes(site.stack, name, vpc_id=vpc_id, availability_zones=["us-east-1a"])
        for name, vpc_id in {"same": "vpc-12345678", "other": "vpc-87654321", "not-looked-up": "vpc-12345"}.items()
    }
    service = chat(site)
    for name, vpc in vpcs.items():
        refused = pytest.raises(IncompatibleError, match="is in VPC vpc-87654321, and the service in vpc-12345678")
        with refused if name == "other" else nullcontext():
            service.add_application_load_balancer(
                f"Of-{name}",
                protocol=elbv2.ApplicationProtocol.HTTP,
                load_balancer=_given(site.stack, f"balancer-{name}", vpc=vpc),
                health_check_path="/health",
            )


def test_a_listener_of_yours_gets_a_rule(site: Site) -> None:
    balancer = elbv2.ApplicationLoadBalancer(site.stack, "Yours", vpc=site.vpc)
    listener = balancer.add_listener("Http", port=80, default_action=elbv2.ListenerAction.fixed_response(404))
    chat(site).add_application_load_balancer(
        "Rule",
        listener=listener,
        priority=10,
        conditions=[elbv2.ListenerCondition.path_patterns(["/v1/*"])],
        health_check_path="/health",
    )
    rule = site.only("AWS::ElasticLoadBalancingV2::ListenerRule")
    assert rule["Priority"] == 10
    assert rule["Actions"][0]["TargetGroupArn"]["Ref"].startswith("ServiceRuleTargets")


def test_an_imported_listener_does_not_say_whose_it_is(ground: Ground) -> None:
    group = ec2.SecurityGroup.from_security_group_id(ground.stack, "Group", "sg-12345678")
    listener = elbv2.ApplicationListener.from_application_listener_attributes(
        ground.stack,
        "Given",
        listener_arn="arn:aws:elasticloadbalancing:us-east-1:1:listener/app/a/b/c",
        security_group=group,
    )
    endpoint = chat(ground).add_application_load_balancer(
        "Rule",
        listener=listener,
        priority=1,
        conditions=[elbv2.ListenerCondition.host_headers(["chat.example.com"])],
        health_check_path="/health",
    )
    with pytest.raises(InvalidValueError, match="listener: an imported listener does not say which load balancer"):
        _ = endpoint.load_balancer


def test_connections_that_are_not_http_have_a_network_load_balancer(site: Site) -> None:
    endpoint = chat(site).add_network_load_balancer("Tls", certificate=certificate_of(site.stack))
    listener = site.only("AWS::ElasticLoadBalancingV2::Listener")
    assert (listener["Port"], listener["Protocol"]) == (443, "TLS")
    targets = site.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    assert (targets["Protocol"], targets["HealthCheckProtocol"]) == ("TCP", "TCP")
    assert str(site.stack.resolve(endpoint.address)).endswith(":443']]}")


def test_subnets_are_in_two_zones(site: Site) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack,
        "Given",
        vpc_id="vpc-12345678",
        vpc_cidr_block="10.0.0.0/16",
        availability_zones=["us-east-1a"],
        private_subnet_ids=["subnet-1"],
    )
    site.__dict__["vpc"] = vpc
    service = chat(site)
    plain: dict[str, Any] = {"protocol": elbv2.ApplicationProtocol.HTTP, "health_check_path": "/health"}
    with pytest.raises(InvalidValueError, match="vpc_subnets: .*two Availability Zones at least, got us-east-1a"):
        service.add_application_load_balancer("Http", **plain)
    with pytest.raises(RefusedByCdkError, match="internet_facing: .*There are no 'Public' subnet groups"):
        service.add_application_load_balancer("Http", internet_facing=True, **plain)
    service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)


def test_a_vpc_of_unknown_addresses_lets_in_whom_the_user_names(site: Site) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack,
        "Given",
        vpc_id="vpc-12345678",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-1", "subnet-2"],
    )
    site.__dict__["vpc"] = vpc
    service = chat(site)
    with pytest.raises(InvalidValueError, match="open: the VPC was imported without its addresses.*vpc_cidr_block"):
        service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
    endpoint = service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP, open=False)
    endpoint.load_balancer.connections  # noqa: B018 - a group of its own, to let others in

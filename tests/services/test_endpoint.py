"""A service answers behind HTTPS in one line, and its balancer reaches the container's port and nothing else."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ecs_patterns as patterns
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_s3 as s3

from gpu_constructs import InvalidValueError
from gpu_constructs.services.endpoint import target_port_of
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
    assert site.warnings(unchanged=True) == []


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
        access_logs_bucket=s3.Bucket(stack, "Logs"),
        health_check_path="/ready",
        container_name="vllm",
        container_port=PORT,
    )
    endpoint.load_balancer.set_attribute("idle_timeout.timeout_seconds", "1800")
    assert {each["Port"] for each in elsewhere.properties("AWS::ElasticLoadBalancingV2::Listener")} == {80, 8443}
    balancer = elsewhere.only("AWS::ElasticLoadBalancingV2::LoadBalancer")
    assert balancer["Scheme"] == "internet-facing"
    assert all("PublicSubnet" in each["Ref"] for each in balancer["Subnets"])
    settings = attributes(balancer, "LoadBalancerAttributes")
    assert (settings["idle_timeout.timeout_seconds"], settings["access_logs.s3.enabled"]) == ("1800", "true")
    targets = elsewhere.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    assert targets["TargetType"] == "ip"
    assert stack.resolve(endpoint.url)["Fn::Join"][1][-1] == ":8443"


def test_plain_http_is_a_choice(site: Site) -> None:
    endpoint = chat(site).add_application_load_balancer(
        "Http", protocol=elbv2.ApplicationProtocol.HTTP, health_check_path="/health", open=False
    )
    listener = site.only("AWS::ElasticLoadBalancingV2::Listener")
    assert (listener["Port"], listener["Protocol"], "SslPolicy" in listener) == (80, "HTTP", False)
    assert "http://" in str(site.stack.resolve(endpoint.url))


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


def test_a_rule_of_your_listener_comes_with_no_load_balancer(ground: Ground) -> None:
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
    with pytest.raises(InvalidValueError, match="listener: the service is a rule of your listener"):
        _ = endpoint.load_balancer


def test_connections_that_are_not_http_have_a_network_load_balancer(site: Site) -> None:
    endpoint = chat(site).add_network_load_balancer("Tls", certificate=certificate_of(site.stack))
    listener = site.only("AWS::ElasticLoadBalancingV2::Listener")
    assert (listener["Port"], listener["Protocol"]) == (443, "TLS")
    targets = site.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    assert (targets["Protocol"], targets["HealthCheckProtocol"]) == ("TCP", "TCP")
    assert str(site.stack.resolve(endpoint.address)).endswith(":443']]}")


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

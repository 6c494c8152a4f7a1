"""What the private chat promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.chat_private import ChatPrivateStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(ChatPrivateStack(app, "chat-private"))


def test_the_model_has_a_gpu_and_its_proxy_has_room(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Chat", gpus=1, on=["g6.xlarge", "g6.2xlarge"]).every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_it_has_a_name_and_no_load_balancer(template: Template) -> None:
    template.resource_count_is("AWS::ElasticLoadBalancingV2::LoadBalancer", 0)
    names = {"ServiceConnectConfiguration": {"Services": [{"ClientAliases": [{"DnsName": "chat", "Port": 8000}]}]}}
    template.has_resource_properties("AWS::ECS::Service", names)

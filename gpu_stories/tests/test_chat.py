"""What the chat promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.chat import ChatStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(ChatStack(app, "chat"))


def test_a_copy_fits_each_type_of_host_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Chat", gpus=1, on=["g6.xlarge", "g6.2xlarge"]).every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_requests_come_encrypted_and_from_the_vpc_alone(template: Template) -> None:
    template.has_resource_properties("AWS::ElasticLoadBalancingV2::LoadBalancer", {"Scheme": "internal"})
    template.has_resource_properties("AWS::ElasticLoadBalancingV2::Listener", {"Protocol": "HTTPS", "Port": 443})

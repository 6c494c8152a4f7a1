"""What the model promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.managed_instances import ManagedInstancesStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(ManagedInstancesStack(app, "managed-instances"))


def test_the_model_has_a_gpu_of_a_host_that_is_there_for_it_alone(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Chat", gpus=1, on=["g6.xlarge", "g6.2xlarge"]).every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_no_host_is_ours_to_patch(template: Template) -> None:
    template.resource_count_is("AWS::AutoScaling::AutoScalingGroup", 0)

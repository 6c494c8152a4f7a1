"""What the pipeline promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.pipeline import PipelineStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(PipelineStack(app, "pipeline"))


def test_its_gpu_steps_fit_their_host_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Train", gpus=1, on="g6.xlarge").has_gpu_task("Evaluate", gpus=1, on="g6.xlarge")
    fleet.every_gpu_task_is_placeable().scales_to_zero().has_no_findings()


def test_it_has_a_state_machine_of_its_own_and_one_for_each_job(template: Template) -> None:
    template.resource_count_is("AWS::StepFunctions::StateMachine", 3)

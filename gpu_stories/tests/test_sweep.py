"""What the sweep promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.sweep import AT_ONCE, SweepStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(SweepStack(app, "sweep"))


def test_a_trial_has_a_gpu_of_a_spot_host_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Trial", gpus=1, on=["g5", "g6"]).every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_each_trial_that_runs_finds_a_host(template: Template) -> None:
    template.has_resource_properties("AWS::AutoScaling::AutoScalingGroup", {"MaxSize": str(AT_ONCE)})

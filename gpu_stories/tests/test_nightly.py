"""What the nightly training promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.nightly import NightlyStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(NightlyStack(app, "nightly"))


def test_it_has_a_gpu_of_a_spot_host_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Train", gpus=1, on=["g5", "g6"]).every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_it_begins_at_two_at_night(template: Template) -> None:
    template.has_resource_properties("AWS::Scheduler::Schedule", {"ScheduleExpression": "cron(0 2 * * ? *)"})

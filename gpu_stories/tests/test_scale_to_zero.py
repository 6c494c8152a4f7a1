"""What the workers promise."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.scale_to_zero import ScaleToZeroStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(ScaleToZeroStack(app, "scale-to-zero"))


def test_a_worker_has_a_gpu_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Worker", gpus=1, on="g6.xlarge").every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_the_number_of_workers_begins_at_none_and_ends_at_what_the_hosts_hold(template: Template) -> None:
    limits = {"MinCapacity": 0, "MaxCapacity": 8}
    template.has_resource_properties("AWS::ApplicationAutoScaling::ScalableTarget", limits)

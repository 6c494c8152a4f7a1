"""What the queue promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.batch import BatchStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(BatchStack(app, "batch"))


def test_each_job_fits_the_hosts_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    assert [each.gpus for each in fleet.fleet.tasks] == [1, 1]
    fleet.every_gpu_task_is_placeable().scales_to_zero().has_no_findings()


def test_both_teams_have_a_share(template: Template) -> None:
    (policy,) = template.find_resources("AWS::Batch::SchedulingPolicy").values()
    shares = policy["Properties"]["FairsharePolicy"]["ShareDistribution"]
    assert {each["ShareIdentifier"] for each in shares} == {"research", "nightly"}

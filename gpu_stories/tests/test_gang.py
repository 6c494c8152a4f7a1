"""What the training promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.gang import HOSTS, GangStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(GangStack(app, "gang"))


def test_each_of_its_hosts_takes_a_node_and_none_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    assert [each.gpus for each in fleet.fleet.tasks] == [8]
    fleet.every_gpu_task_is_placeable().scales_to_zero().has_no_findings()


def test_it_starts_on_all_hosts_at_once(template: Template) -> None:
    template.has_resource_properties("AWS::Batch::JobDefinition", {"NodeProperties": {"NumNodes": HOSTS}})

"""What the watched service promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.watched import EMAIL, WatchedStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(WatchedStack(app, "watched"))


def test_it_has_a_gpu_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Chat", gpus=1, on=["g6.xlarge", "g6.2xlarge"]).every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_somebody_is_told_of_each_alarm(template: Template) -> None:
    template.has_resource_properties("AWS::SNS::Subscription", {"Protocol": "email", "Endpoint": EMAIL})
    alarms = template.find_resources("AWS::CloudWatch::Alarm").values()
    assert alarms
    assert all(each["Properties"]["AlarmActions"] for each in alarms)

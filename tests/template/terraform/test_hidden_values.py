"""What the provider hides, an image's id or user data, is found where the configuration says it.

The forms are those of plans that Terraform 1.11.4 wrote with version 5.100 of the provider.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.fleet import HostImage
from tests.template.terraform.module_plans import AMI, configured, planned, refers
from tests.template.terraform.test_forms import HOSTS, change, errors, simple

GPU = "data.aws_ssm_parameter.gpu"
AL2 = "/aws/service/ecs/optimized-ami/amazon-linux-2/gpu/recommended"
SCRIPT = "#!/bin/bash\necho ECS_CLUSTER=prod >> /etc/ecs/ecs.config\n"


def hidden(name: str, *references: str, instance_type: str = "g7e.2xlarge") -> dict[str, Any]:
    """A plan whose image id is sensitive, and comes from a parameter with some name."""
    written = simple(1)
    of_hosts = change(written, HOSTS)["change"]
    of_hosts["after_sensitive"] = {"image_id": True}
    of_hosts["after"]["instance_type"] = instance_type
    read = {"address": GPU, "mode": "data", "type": "aws_ssm_parameter", "name": "gpu"}
    values = {"name": name, "type": "String", "value": "hidden-value", "insecure_value": AMI}
    written["prior_state"]["values"]["root_module"]["resources"] = [
        {**read, "values": values, "sensitive_values": {"value": True}}
    ]
    (own,) = (each for each in resources(written) if each["address"] == HOSTS)
    own["expressions"] = {"image_id": refers(*references)}
    return written


def resources(written: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = written["configuration"]["root_module"]["resources"]
    return found


def image(report: Report) -> str | None:
    (pool,) = report.fleet.pools
    return pool.image.image.name if isinstance(pool.image, HostImage) else None


@pytest.mark.parametrize("name", [AL2, f"{AL2}/image_id"])
def test_an_image_id_that_is_sensitive_is_the_image_of_the_parameter_that_it_comes_from(name: str) -> None:
    report = check_files([hidden(name, f"{GPU}.value", GPU)])
    assert image(report) == "al2-gpu"
    assert "GPU052" in errors(report)
    assert "hidden-value" not in repr(report.fleet)
    assert AMI not in repr(report.fleet)


@pytest.mark.parametrize(
    "references",
    [
        (f"{GPU}.value", GPU, "var.image"),
        (f"{GPU}.value", GPU, "data.aws_ssm_parameter.other.value"),
        (f"{GPU}.arn", GPU),
        ("local.image",),
        ("var.image",),
        (),
    ],
)
def test_an_image_id_that_may_be_another_is_not_known(references: tuple[str, ...]) -> None:
    report = check_files([hidden(AL2, *references)])
    assert image(report) is None
    assert "GPU052" not in errors(report)
    (said,) = report.unchecked
    assert "insecure_value of aws_ssm_parameter" in str(said.fix)


def test_an_image_id_that_is_sensitive_is_found_through_the_variable_of_a_module() -> None:
    written = hidden(AL2, "var.image")
    root = written["configuration"]["root_module"]
    inner = [each for each in root["resources"] if each["address"] == HOSTS]
    module = {"resources": inner, "outputs": {"id": {"expression": refers(f"{HOSTS}.id", HOSTS)}}}
    root["module_calls"] = {"hosts": {"expressions": {"image": refers(f"{GPU}.value", GPU)}, "module": module}}
    change(written, HOSTS)["address"] = f"module.hosts.{HOSTS}"
    (group,) = (each for each in root["resources"] if each["address"] == "aws_autoscaling_group.gpu")
    group["expressions"] = {"launch_template": [{"id": refers("module.hosts.id", "module.hosts")}]}
    assert image(check_files([written], rules=())) == "al2-gpu"


def test_no_fix_tells_a_plan_to_declare_metadata() -> None:
    written = hidden(AL2, "local.image", instance_type="inf2.xlarge")
    of_task = change(written, "aws_ecs_task_definition.train")["change"]["after"]
    devices = {"devices": [{"hostPath": "/dev/neuron0", "containerPath": "/dev/neuron0"}]}
    container = {"name": "train", "image": "example", "memory": 1024, "linuxParameters": devices}
    of_task["container_definitions"] = json.dumps([container])
    (said,) = check_files([written]).unchecked
    assert "Metadata" not in str(said)


def by_hash(expression: dict[str, Any]) -> Report:
    """One instance with a hash for its user data, and a service on its cluster."""
    written = simple(8)
    after = {"ami": AMI, "instance_type": "g6.xlarge", "iam_instance_profile": "hosts"}
    after["user_data"] = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
    gone = ("aws_autoscaling_group", "aws_ecs_capacity_provider", "aws_ecs_cluster_capacity", "aws_launch_template")
    written["resource_changes"] = [
        *(each for each in written["resource_changes"] if not each["address"].startswith(gone)),
        planned("aws_instance.gpu", after),
    ]
    del change(written, "aws_ecs_service.train")["change"]["after"]["capacity_provider_strategy"]
    change(written, "aws_ecs_service.train")["change"]["after"]["launch_type"] = "EC2"
    resources(written).append(configured("aws_instance.gpu", {"user_data": expression}))
    return check_files([written])


def test_user_data_that_the_plan_has_as_a_hash_is_read_from_the_configuration() -> None:
    report = by_hash({"constant_value": SCRIPT})
    assert [each.name for each in report.fleet.pools] == ["aws_instance.gpu"]
    assert "GPU060" in errors(report)


def test_where_only_a_hash_is_there_the_report_says_so() -> None:
    report = by_hash(refers("local.script"))
    (said,) = report.unchecked
    assert "a hash of the user data of aws_instance.gpu; write it as user_data_base64" in said.message

"""The forms in which Terraform writes plans and states, and what is refused with the way to a file that is read."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.fleet import UNKNOWN, HostImage
from gpu_constructs.template import UnreadableError
from gpu_constructs.template.documents.document import is_plan
from tests.template.terraform.module_plans import (
    AMI,
    JOIN,
    PROFILE,
    configured,
    containers,
    plan,
    planned,
    refers,
)

TASK = "aws_ecs_task_definition.train"
HOSTS = "aws_launch_template.gpu"


def simple(gpus: int = 8, **more: Any) -> dict[str, Any]:
    """One task on one group, in the root module."""
    changes = [
        planned("aws_ecs_cluster.prod", {"name": "prod"}),
        planned(
            HOSTS,
            {"image_id": AMI, "instance_type": "g6.xlarge", "user_data": JOIN, "iam_instance_profile": PROFILE},
        ),
        planned(
            "aws_autoscaling_group.gpu",
            {"name": "gpu", "max_size": 2, "min_size": 0, "launch_template": [{"version": "$Latest"}]},
            launch_template=[{"id": True}],
        ),
        planned(
            "aws_ecs_capacity_provider.gpu",
            {"name": "gpu", "auto_scaling_group_provider": [{"managed_scaling": [{"status": "ENABLED"}]}]},
            auto_scaling_group_provider=[{"auto_scaling_group_arn": True}],
        ),
        planned("aws_ecs_cluster_capacity_providers.prod", {"cluster_name": "prod", "capacity_providers": ["gpu"]}),
        planned(TASK, {"family": "train", "container_definitions": containers(gpus), "network_mode": None}),
        planned(
            "aws_ecs_service.train",
            {
                "name": "train",
                "desired_count": 1,
                "capacity_provider_strategy": [{"capacity_provider": "gpu", "weight": 1}],
            },
            cluster=True,
            task_definition=True,
        ),
    ]
    resources = [
        configured("aws_ecs_cluster.prod"),
        configured(HOSTS, {"image_id": refers("local.image")}),
        configured("aws_autoscaling_group.gpu", {"launch_template": [{"id": refers(f"{HOSTS}.id", HOSTS)}]}),
        configured(
            "aws_ecs_capacity_provider.gpu",
            {"auto_scaling_group_provider": [{"auto_scaling_group_arn": refers("aws_autoscaling_group.gpu.arn")}]},
        ),
        configured("aws_ecs_cluster_capacity_providers.prod"),
        configured(TASK),
        configured(
            "aws_ecs_service.train",
            {"cluster": refers("aws_ecs_cluster.prod.id"), "task_definition": refers(f"{TASK}.arn", TASK)},
        ),
    ]
    return plan(changes, {"resources": resources}, **more)


def change(written: dict[str, Any], address: str) -> dict[str, Any]:
    return next(each for each in written["resource_changes"] if each["address"] == address)


def errors(report: Report) -> list[str]:
    return [each.rule for each in report.findings if each.is_grave]


def test_a_plan_that_only_has_links_in_its_configuration_is_judged() -> None:
    report = check_files([simple()])
    assert "GPU060" in errors(report)
    assert report.fleet.pools[0].region == "eu-west-1"


def test_the_ami_of_a_data_source_is_the_image_of_its_parameter() -> None:
    (pool,) = check_files([simple()], rules=()).fleet.pools
    assert isinstance(pool.image, HostImage)
    assert pool.image.image.name == "al2023-gpu"


def test_the_name_of_an_ami_that_was_looked_up_is_the_image_of_ecs() -> None:
    written = simple()
    read = written["prior_state"]["values"]["root_module"]["resources"][0]
    read |= {"address": "data.aws_ami.ecs", "type": "aws_ami"}
    read["values"] = {"id": AMI, "name": "al2023-ami-ecs-gpu-hvm-2023.0.20260101-kernel-6.1-x86_64-ebs"}
    (pool,) = check_files([written], rules=()).fleet.pools
    assert isinstance(pool.image, HostImage)
    assert pool.image.release == read["values"]["name"]


@pytest.mark.parametrize("actions", [["delete"], ["forget"]])
def test_what_is_gone_after_the_apply_is_not_checked(actions: list[str]) -> None:
    written = simple()
    for address in (TASK, "aws_ecs_service.train"):
        change(written, address)["change"] |= {"actions": actions, "after": None}
    assert check_files([written], rules=()).fleet.tasks == ()


def test_a_deposed_object_is_not_the_resource() -> None:
    written = simple(gpus=1)
    old = copy.deepcopy(change(written, TASK))
    old["change"]["after"]["container_definitions"] = containers(8)
    written["resource_changes"].append({**old, "deposed": "0123abcd"})
    assert errors(check_files([written])) == []


def test_a_moved_resource_is_there_once() -> None:
    written = simple()
    change(written, TASK)["previous_address"] = "aws_ecs_task_definition.old"
    old = change(written, TASK) | {"address": "aws_ecs_task_definition.old", "name": "old"}
    values = {"family": "train", "container_definitions": containers(8)}
    written["prior_state"]["values"]["root_module"]["resources"].append({**old, "values": values})
    assert [each.name for each in check_files([written], rules=()).fleet.tasks] == [TASK]


def test_what_target_leaves_out_is_read_from_the_prior_state() -> None:
    written = simple()
    hosts = change(written, HOSTS)
    written["resource_changes"].remove(hosts)
    prior = {key: hosts[key] for key in ("address", "mode", "type", "name")} | {"values": hosts["change"]["after"]}
    written["prior_state"]["values"]["root_module"]["resources"].append(prior)
    assert "GPU060" in errors(check_files([written]))


def as_state(written: dict[str, Any]) -> dict[str, Any]:
    """The state after the apply: ids and ARNs in place of links, and no configuration."""
    resources = []
    arn = "arn:aws:ecs:eu-west-1:111122223333:"
    known = {
        TASK: {"arn": f"{arn}task-definition/train:3", "network_mode": ""},
        HOSTS: {"id": "lt-0123456789abcdef0"},
        "aws_autoscaling_group.gpu": {"arn": f"{arn}group", "launch_template": [{"id": "lt-0123456789abcdef0"}]},
        "aws_ecs_capacity_provider.gpu": {
            "auto_scaling_group_provider": [
                {"auto_scaling_group_arn": f"{arn}group", "managed_scaling": [{"status": "ENABLED"}]}
            ]
        },
        "aws_ecs_cluster.prod": {"arn": f"{arn}cluster/prod", "id": f"{arn}cluster/prod"},
        "aws_ecs_service.train": {
            "cluster": f"{arn}cluster/prod",
            "task_definition": f"{arn}task-definition/train:3",
            "launch_type": "",
        },
    }
    for each in written["resource_changes"]:
        values = each["change"]["after"] | known.get(each["address"], {})
        resources.append({**{key: each[key] for key in ("address", "mode", "type", "name")}, "values": values})
    read = written["prior_state"]["values"]["root_module"]["resources"]
    values = {"root_module": {"resources": [*resources, *read]}}
    return {"format_version": "1.0", "terraform_version": "1.13.0", "values": values}


def test_a_state_gets_the_report_of_its_plan() -> None:
    said = [
        {(each.rule, each.subject) for each in check_files([written]).findings}
        for written in (simple(), as_state(simple()))
    ]
    # In which order things are created is no question where they are there.
    assert said[0] == said[1] | {("GPU259", "aws_ecs_service.train")}
    assert ("GPU060", "aws_ecs_service.train") in said[1]


def test_provider_6_has_the_region_on_the_resource_and_others_stay_where_they_are() -> None:
    written = simple()
    change(written, "aws_ecs_capacity_provider.gpu")["change"]["after"]["region"] = "us-west-2"
    regions = {each.name: each.region for each in check_files([written], rules=()).fleet.pools}
    assert regions == {"aws_ecs_capacity_provider.gpu": "us-west-2"}


def test_of_a_container_with_a_secret_the_numbers_are_judged_and_nothing_else_is_known() -> None:
    written = simple()
    of_task = change(written, TASK)["change"]
    secret = [{"name": "TOKEN", "value": "not-for-logs"}]
    of_task["after"]["container_definitions"] = containers(8, environment=secret, command=["not-for-logs"])
    of_task["after_sensitive"] = {"container_definitions": True}
    report = check_files([written])
    assert "GPU060" in errors(report)
    assert "not-for-logs" not in repr(report.fleet)


def test_a_sensitive_argument_is_unknown() -> None:
    written = simple()
    change(written, HOSTS)["change"]["after_sensitive"] = {"instance_type": True}
    report = check_files([written])
    assert report.fleet.pools[0].has_unknown_types
    assert report.unchecked


@pytest.mark.parametrize(("after", "count"), [({"desired_count": None}, 0), ({}, UNKNOWN)])
def test_an_unset_count_of_a_service_is_none_unless_the_apply_sets_it(after: dict[str, None], count: object) -> None:
    written = simple()
    of_service = change(written, "aws_ecs_service.train")["change"]
    del of_service["after"]["desired_count"]
    of_service["after"] |= after
    of_service["after_unknown"]["desired_count"] = not after
    assert check_files([written], rules=()).fleet.workloads[0].desired_count == count


@pytest.mark.parametrize("desired", [None, 0, 1])
def test_a_group_that_ecs_scales_begins_empty_only_without_a_desired_capacity(desired: int | None) -> None:
    written = simple(1)
    change(written, "aws_autoscaling_group.gpu")["change"]["after"]["desired_capacity"] = desired
    of_service = change(written, "aws_ecs_service.train")["change"]["after"]
    of_service |= {"launch_type": "EC2", "capacity_provider_strategy": []}
    found = {each.rule for each in check_files([written]).findings}
    assert found & {"GPU210", "GPU218"} == (set() if desired else {"GPU218"})


@pytest.mark.parametrize(("actions", "is_said"), [(["no-op"], False), (["update"], True), (["create"], True)])
def test_a_new_service_may_come_before_providers_that_its_cluster_does_not_have_yet(
    actions: list[str], is_said: bool
) -> None:
    written = simple(1)
    change(written, "aws_ecs_cluster_capacity_providers.prod")["change"]["actions"] = actions
    assert ("GPU259" in {each.rule for each in check_files([written]).findings}) is is_said


def test_a_plan_that_leaves_something_for_later_is_not_all_there_is() -> None:
    assert check_files([simple()], rules=()).fleet.is_whole
    assert not check_files([simple(complete=False)], rules=()).fleet.is_whole


_AGENT = "arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("aws_iam_role_policy_attachment", {"role": "hosts", "policy_arn": _AGENT}),
        ("aws_iam_policy_attachment", {"name": "agent", "roles": ["others", "hosts"], "policy_arn": _AGENT}),
        ("aws_iam_role_policy_attachments_exclusive", {"role_name": "hosts", "policy_arns": [_AGENT]}),
    ],
)
def test_policies_that_are_attached_are_those_of_the_role(kind: str, given: dict[str, Any]) -> None:
    written = simple(gpus=1)
    document = json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]})
    trust = json.dumps(
        {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}]}
    )
    written["resource_changes"] += [
        planned("aws_iam_role.hosts", {"name": "hosts", "assume_role_policy": trust}),
        planned("aws_iam_instance_profile.hosts", {"name": "hosts", "role": "hosts"}),
        planned("aws_iam_role_policy.data", {"role": "hosts", "policy": document}),
    ]
    change(written, HOSTS)["change"]["after"]["iam_instance_profile"] = [{"name": "hosts"}]
    assert "GPU264" in errors(check_files([written]))
    written["resource_changes"].append(planned(f"{kind}.agent", given))
    assert "GPU264" not in errors(check_files([written]))


def test_containers_of_the_apply_that_nothing_runs_are_not_checked_and_said() -> None:
    written = simple()
    written["resource_changes"] = [change(written, TASK)]
    of_task = written["resource_changes"][0]["change"]
    del of_task["after"]["container_definitions"]
    of_task["after_unknown"] = {"container_definitions": True}
    resources = [configured(TASK, {"container_definitions": refers("aws_ecr_repository.train.repository_url")})]
    written["configuration"]["root_module"] = {"resources": resources}
    (found,) = check_files([written]).unchecked
    assert "only known after the apply" in found.message
    assert "by a variable" in found.fix


def test_modules_that_refer_to_each_other_without_end_are_read() -> None:
    refs = refers(*(f"module.a.o{number}" for number in range(20)))
    inner = {
        "outputs": {
            f"o{number}": {"expression": refers(*(f"var.v{each}" for each in range(20)))} for number in range(20)
        }
    }
    call = {"expressions": {f"v{number}": refs for number in range(20)}, "module": inner}
    written = simple()
    root = written["configuration"]["root_module"]
    root["module_calls"] = {"a": call}
    root["resources"][-1]["expressions"]["cluster"] = refs
    assert check_files([written], rules=()).fleet.workloads


@pytest.mark.parametrize(
    ("broken", "reason", "fix"),
    [
        ({"format_version": "2.0"}, "format_version '2.0', which is not known", "0.x and 1.x"),
        ({"errored": True}, "a plan that failed", "plan again"),
        ({"planned_values": {"root_module": {"resources": []}}, "resource_changes": None}, "without", "plan again"),
        ({"format_version": [], "resource_changes": 7}, "format_version", "1.x"),
    ],
)
def test_a_plan_in_another_form_is_refused(broken: dict[str, Any], reason: str, fix: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        check_files([{**simple(), **broken}])
    assert reason in str(caught.value)
    assert fix in str(caught.value)


def test_what_a_state_has_as_zero_was_not_written() -> None:
    written = simple(1)
    ebs = {"iops": 0, "throughput": 0, "volume_size": 0, "volume_type": "gp3"}
    change(written, HOSTS)["change"]["after"]["block_device_mappings"] = [{"device_name": "/dev/xvda", "ebs": [ebs]}]
    assert errors(check_files([written])) == []
    ebs["iops"] = 1
    assert errors(check_files([written])) == ["GPU267"]


def test_a_state_file_is_refused_with_the_command_that_makes_one() -> None:
    state: dict[str, Any] = {"version": 4, "terraform_version": "1.13.0", "serial": 1, "lineage": "a", "resources": []}
    assert is_plan(state)
    with pytest.raises(UnreadableError, match=r"terraform show -json > state\.json"):
        check_files([state])


@pytest.mark.parametrize("name", ["main.tf", "main.tofu", "main.tf.json", "gpu.tfvars"])
def test_a_configuration_is_refused_with_the_commands_that_make_a_plan(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text('resource "aws_ecs_cluster" "prod" {}', encoding="utf-8")
    with pytest.raises(UnreadableError, match=r"terraform plan -out=tf\.plan && terraform show -json tf\.plan"):
        check_files([file])


def test_a_saved_plan_is_refused_with_the_command_that_shows_it(tmp_path: Path) -> None:
    saved = io.BytesIO()
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("tfplan", "x")
    file = tmp_path / "tf.plan"
    file.write_bytes(saved.getvalue())
    with pytest.raises(UnreadableError, match=r"terraform show -json .*tf\.plan > plan\.json"):
        check_files([file])


def test_lines_that_ci_writes_around_a_plan_are_no_part_of_it(tmp_path: Path) -> None:
    wrapped = f"[command]/bin/terraform-bin show -json tf.plan\n{json.dumps(simple())}\n::debug::exited with code 0.\n"
    assert "GPU060" in errors(check_files(["-"], stdin=wrapped.encode()))
    file = tmp_path / "plan.json"
    file.write_text(wrapped, encoding="utf-8")
    assert "GPU060" in errors(check_files([file]))


@pytest.mark.parametrize("kind", ["batch_job_definition", "ecs_task_definition"])
def test_work_of_a_provider_that_is_not_read_is_not_checked(kind: str) -> None:
    address = f"awscc_{kind}.train"
    report = check_files([plan([planned(address, {"type": "container"}), planned("awscc_s3_bucket.data", {})], {})])
    assert [(each.rule, each.message) for each in report.findings] == [
        ("GPU229", f"what {address} defines is not known here")
    ]
    assert report.skipped_jobs == 0

"""A plan that Terraform 1.15.5 wrote with version 3.39 of the provider, checked by the command as a user would.

``real/main.tf`` is what it was made from. It has the forms that no document shows: links that only the configuration
has, keys with dots, a second provider, a secret in a container, an image of a repository that does not exist yet.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.cli.program import main
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.terraform.words import in_terraform

SERVICE = Path(__file__).parent / "real" / "service.json"
REAL = Path(__file__).parent / "real" / "plan.json"
SECRET = "hunter2-very-secret"  # noqa: S105 - of main.tf


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["check", *arguments])
    return code, capsys.readouterr().out


def test_a_wrong_gpu_count_is_named_with_its_address_its_argument_and_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REAL.parent)
    code, text = check(capsys, "plan.json")
    assert code == 1
    assert "module.train.aws_ecs_task_definition.train[0] (container_definitions[0].resourceRequirements" in text
    assert "GPUs: 8 asked, g5.xlarge has 1" in text
    assert "m/main.tf:8)" in text


def test_a_directory_with_a_plan_and_what_it_is_made_from_is_that_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("plan.json", "main.tf"):
        (tmp_path / name).write_bytes((REAL.parent / name).read_bytes())
    (tmp_path / "terraform.tfstate").write_text('{"version": 4, "terraform_version": "1.9.0", "resources": []}')
    code, text = check(capsys, str(tmp_path))
    assert code == 1
    assert "GPU060" in text


def test_a_secret_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert SECRET in REAL.read_text(encoding="utf-8")
    for form in ("text", "json", "sarif"):
        assert SECRET not in check(capsys, str(REAL), "-v", "--format", form)[1]


def test_what_only_the_apply_knows_is_said_and_never_fine() -> None:
    found = [each for each in check_files([REAL]).findings if each.subject == "aws_ecs_task_definition.open"]
    assert [(each.rule, str(each.severity)) for each in found] == [("GPU014", "warning")]
    assert "only known after the apply" in found[0].message
    assert "by a variable" in found[0].fix


def test_links_of_the_configuration_lead_to_the_instance_with_the_same_key() -> None:
    fleet = check_files([REAL], rules=()).fleet
    assert {each.name: each.max_instances for each in fleet.pools} == {
        'aws_ecs_capacity_provider.gpu["a.b"]': 4,
        'aws_ecs_capacity_provider.gpu["c"]': 2,
    }
    clusters = {each.cluster for each in fleet.pools} | {each.cluster for each in fleet.workloads}
    assert clusters == {"aws_ecs_cluster.gpu"}


def test_a_region_comes_from_the_variable_of_the_provider() -> None:
    assert {each.region for each in check_files([REAL], rules=()).fleet.pools} == {"eu-west-1"}


def test_findings_name_arguments_and_resources_of_terraform() -> None:
    texts = [f"{each.message} {each.fix}" for each in check_files([REAL]).findings]
    assert any("overrides without weighted_capacity" in each for each in texts)
    assert not [each for each in texts if "AWS::" in each or "ResourceRequirements" in each or "Cpu" in each]


def test_what_comes_first_is_an_argument_of_a_resource_and_a_key_of_a_container() -> None:
    association = "DependsOn the AWS::ECS::ClusterCapacityProviderAssociations"
    words = in_terraform(association, "aws_ecs_service", is_marked=False)
    assert words == "depends_on the aws_ecs_cluster_capacity_providers"
    assert in_terraform("DependsOn", "aws_ecs_task_definition", is_marked=True) == "dependsOn"
    assert in_terraform("Type EC2", "aws_batch_compute_environment", is_marked=True) == "type EC2"
    assert in_terraform("1 in Command", "aws_batch_job_definition", is_marked=False) == "1 in command"
    assert in_terraform("TimeoutSeconds of the state", "aws_sfn_state_machine", is_marked=False)[:7] == "Timeout"


def test_a_service_behind_a_load_balancer_gets_no_error_but_that_of_its_network() -> None:
    """Another plan: a group of a dynamic block, security groups, roles, scaling, AWS Batch, a rule of EventBridge."""
    report = check_files([SERVICE])
    # Its VPC has no way out, so that no host of it reaches Amazon ECS.
    assert {each.rule for each in report.findings if str(each.severity) == "error"} == {"GPU228"}
    fleet = report.fleet
    assert {each.name: each.max_instances for each in fleet.pools} == {
        "aws_ecs_capacity_provider.p": 3,
        "aws_batch_compute_environment.b": 2,
    }
    assert fleet.pools[0].group is not None
    assert fleet.pools[0].group.warm_pool is not None
    assert {each.name: (each.task.name if each.task else None, each.cluster) for each in fleet.workloads} == {
        "aws_ecs_service.chat": ("aws_ecs_task_definition.chat", "aws_ecs_cluster.c"),
        "aws_cloudwatch_event_target.night": ("aws_ecs_task_definition.chat", "aws_ecs_cluster.c"),
    }
    assert fleet.workloads[0].scaling is not None
    assert fleet.workloads[0].scaling.most == 3


@pytest.mark.parametrize(
    ("address", "argument", "value", "rule"),
    [
        ("aws_security_group.hosts", "ingress", [], "GPU206"),
        ("aws_launch_template.lt", "instance_type", "c7i.large", "GPU060"),
        ("aws_appautoscaling_target.t", "max_capacity", 30, "GPU080"),
        ("aws_iam_role.hosts", "assume_role_policy", '{"Statement": []}', "GPU264"),
    ],
)
def test_one_wrong_argument_of_it_is_named(address: str, argument: str, value: object, rule: str) -> None:
    written = json.loads(SERVICE.read_text(encoding="utf-8"))
    (changed,) = [each["change"] for each in written["resource_changes"] if each["address"] == address]
    changed["after"][argument] = value
    changed["after_unknown"].pop(argument, None)
    assert rule in {each.rule for each in check_files([written]).findings}


def test_a_size_of_a_warm_pool_that_only_the_apply_knows_is_not_known() -> None:
    written = json.loads(SERVICE.read_text(encoding="utf-8"))
    (changed,) = [each["change"] for each in written["resource_changes"] if each["type"] == "aws_autoscaling_group"]
    changed["after_unknown"]["warm_pool"] = [{"min_size": True}]
    del changed["after"]["warm_pool"][0]["min_size"]
    (configured,) = [
        each["expressions"]
        for each in written["configuration"]["root_module"]["resources"]
        if each["type"] == "aws_autoscaling_group"
    ]
    configured["warm_pool"] = [{"min_size": {"references": ["random_integer.hosts.result", "random_integer.hosts"]}}]
    group = check_files([written], rules=()).fleet.pools[0].group
    assert group is not None
    assert group.warm_pool is not None
    assert group.warm_pool.min_size is UNKNOWN


def test_a_plan_on_many_lines_has_lines_and_one_on_a_single_line_has_none(tmp_path: Path) -> None:
    spread = tmp_path / "plan.json"
    spread.write_text(json.dumps(json.loads(REAL.read_text(encoding="utf-8")), indent=2), encoding="utf-8")
    lines = {each.rule: each.origin.line for each in check_files([spread]).findings if each.origin}
    text = spread.read_text(encoding="utf-8").splitlines()
    assert '"container_definitions"' in text[(lines["GPU060"] or 0) - 1]
    assert {each.origin.line for each in check_files([REAL]).findings if each.origin} == {None}


@pytest.mark.parametrize("command", [["plan"], ["explain", "module.train.aws_ecs_task_definition.train[0]"]])
def test_the_other_commands_read_it_too(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, str(REAL)]) in {0, 1}
    assert 'aws_ecs_capacity_provider.gpu["a.b"]' in capsys.readouterr().out


def test_two_plans_are_compared_without_what_cloudformation_refuses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written = json.loads(REAL.read_text(encoding="utf-8"))
    for each in written["resource_changes"]:
        # Another name is another group, and so another provider of that name.
        if each["type"] == "aws_autoscaling_group":
            each["change"]["after"]["name"] += "-2"
    new = tmp_path / "plan.json"
    new.write_text(json.dumps(written), encoding="utf-8")
    assert main(["plan", "--diff", str(REAL), str(new)]) == 0
    assert "refuse" not in capsys.readouterr().out

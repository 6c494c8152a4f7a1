"""Each command needs the policy that it prints, or that its page shows, no more and no less, by the calls it makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ecs_emulator.local import Ask, Deployed, Local
from ecs_emulator.policies import Call, is_allowed
from gpu_constructs.account import self_test
from gpu_constructs.account.live.self_test import FAMILY

from .templates import cluster_template, service

PAGE = Path(__file__).parents[2] / "docs/planning.md"
HERE = "us-east-1:123456789012"
SERVICES = ("autoscaling", "cloudformation", "ec2", "ecs", "logs", "service-quotas", "ssm", "sts")


def _resource(action: str, given: dict[str, Any]) -> str:
    """What a call is about, where a policy of ours says so."""
    if action.startswith("logs:"):
        stream = f":log-stream:{given['logStreamName']}" if "logStreamName" in given else ""
        return f"arn:aws:logs:{HERE}:log-group:{given['logGroupName']}{stream}"
    if action == "ssm:GetParameters":
        return f"arn:aws:ssm:us-east-1::parameter{given['Names'][0]}"
    found = {"ecs:RunTask": "taskDefinition", "ecs:StopTask": "task"}.get(action)
    return str(given[found]) if found else "*"


@contextmanager
def noted(cloud: Local) -> Iterator[list[Call]]:
    """The calls that are made, with what they are about."""
    calls: list[Call] = []

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        action = f"{model.service_model.signing_name}:{model.name}"
        calls.append(Call(action, _resource(action, params)))

    events = [cloud.account.client(each).meta.events for each in SERVICES]
    for each in events:
        each.register("provide-client-params", note, unique_id="noted")
    try:
        yield calls
    finally:
        for each in events:
            each.unregister("provide-client-params", unique_id="noted")


def printed(ask: Ask, *command: str) -> list[dict[str, Any]]:
    code, said = ask(*command, "--policy")
    assert code == 0
    statements: list[dict[str, Any]] = json.loads(said)["Statement"]
    return statements


def of_page() -> list[dict[str, Any]]:
    (found,) = re.findall(
        r"least policy that both need.*?```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    statements: list[dict[str, Any]] = json.loads(found)["Statement"]
    return statements


def hold(statements: list[dict[str, Any]], calls: list[Call], *unseen: str) -> None:
    """Every call is allowed, and every action is called, but for those that this account gives no reason for."""
    assert [str(each) for each in calls if not is_allowed(statements, each)] == []
    allowed = {action for each in statements for action in each["Action"]}
    assert allowed - {each.action for each in calls} == set(unseen)
    for statement in statements:
        others = [each for each in statements if each is not statement]
        other = [*others, {**statement, "Resource": "arn:aws:ecs:*:*:other"}]
        assert not all(is_allowed(other, each) for each in calls) or set(statement["Action"]) <= set(unseen)


@pytest.fixture
def stack(cloud: Local) -> Iterator[Deployed]:
    template = cluster_template(max_size=1)
    template["Resources"]["Service"] = service(count=0)
    made = cloud.deploy(template, "demo")
    yield made
    cloud.account.stop_all(made.outputs["Cluster"])
    cloud.destroy(made)


def _waits(cloud: Local, stack: Deployed) -> None:
    out = stack.outputs
    assert cloud.run(out["Cluster"], out["Task"], out["Provider"]) == "RUNNING"


def test_why_and_verify(cloud: Local, ask: Ask, stack: Deployed) -> None:
    _waits(cloud, stack)
    (task,) = cloud.account.tasks(stack.outputs["Cluster"])
    with noted(cloud) as calls:
        ask("why", "Service", "--cluster", stack.outputs["Cluster"])
        ask("why", task.arn.rpartition("/")[2], "--cluster", stack.outputs["Cluster"])
        ask("verify", "demo")
    hold(of_page(), calls)


def test_stop_tasks(cloud: Local, ask: Ask, stack: Deployed) -> None:
    _waits(cloud, stack)
    with noted(cloud) as calls:
        of_one = ("--cluster", stack.outputs["Cluster"], "--capacity", stack.outputs["Provider"])
        assert ask("stop-tasks", *of_one)[0] == 1
        assert ask("stop-tasks", "demo", "--yes")[0] == 0
    hold(printed(ask, "stop-tasks"), calls)


def test_run_self_test(cloud: Local, ask: Ask, stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "_POLL_SECONDS", 0)
    cloud.switch(f"ends/{FAMILY}", "0")
    _waits(cloud, stack)
    cloud.account.stop_all(stack.outputs["Cluster"])
    with noted(cloud) as calls:
        assert ask("run-self-test", "demo")[0] == 0
    cloud.switch(f"ends/{FAMILY}", "late")
    with noted(cloud) as more:
        assert ask("run-self-test", "demo", "--minutes", "0.001")[0] == 1
    cloud.account.client("logs").delete_log_group(logGroupName=FAMILY)
    hold(printed(ask, "run-self-test"), [*calls, *more])


def test_preflight(cloud: Local, ask: Ask, stack: Deployed, tmp_path: Path) -> None:
    assert stack.outputs
    file = tmp_path / "template.json"
    file.write_text(json.dumps(cluster_template()), encoding="utf-8")
    with noted(cloud) as calls:
        ask("preflight", str(file), "--region", "us-east-1")
    # Nothing is reserved, and the file names no account, subnet or parameter: tests/account/preflight has them all.
    reserved = ("ec2:DescribeCapacityReservations", "ec2:DescribeCapacityBlockOfferings")
    named = ("sts:GetCallerIdentity", "ec2:DescribeSubnets", "ssm:GetParameters", "resource-groups:ListGroupResources")
    hold(printed(ask, "preflight"), calls, *reserved, *named)

"""A task that was started by hand holds up the deletion of its stack, until ``stop-tasks`` has stopped it."""

from __future__ import annotations

import pytest
from ecs_emulator.local import Local, NotDeployedError
from gpu_constructs.account import live_cluster
from gpu_constructs.cli.program import main

from .templates import cluster_template


def test_a_stack_goes_once_its_tasks_are_stopped(
    cloud: Local, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = cloud.deploy(cluster_template(max_size=1), "Demo")
    cluster, provider, train = (stack.outputs[each] for each in ("Cluster", "Provider", "Task"))
    assert cloud.run(cluster, train, provider) == "RUNNING"
    with pytest.raises(NotDeployedError, match="DELETE_FAILED"):
        cloud.destroy(stack)

    monkeypatch.setattr(live_cluster, "clients_of", lambda _: lambda service, _: cloud.account.client(service))
    assert main(["stop-tasks", "Demo"]) == 1
    assert [each.status for each in cloud.account.tasks(cluster)] == ["RUNNING"]
    assert main(["stop-tasks", "Demo", "--yes", "--capacity", provider]) == 0
    assert "  stopped  " in capsys.readouterr().out
    assert main(["stop-tasks", "Demo"]) == 0
    cloud.destroy(stack)

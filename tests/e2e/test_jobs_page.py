"""The sweep of ``docs/jobs.md`` on the emulator."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ecs_emulator.local import Local

from .cdk_cli import ROOT
from .deployed_jobs import Jobs

PAGE = (ROOT / "docs" / "jobs.md").read_text()


def test_a_sweep_runs_eight_trials_at_once_and_goes_on_after_one_that_fails(cloud: Local, tmp_path: Path) -> None:
    (app,) = (each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if '"Sweep"' in each)
    exec(app.replace("App()", f"App(outdir={str(tmp_path)!r})"), {})  # noqa: S102 - it is our own
    stack = cloud.deploy_assembly(tmp_path, "Sweep")
    account = cloud.account
    (task,) = account.client("ecs").list_task_definitions()["taskDefinitionArns"]
    cloud.switch(f"ends/{task.rpartition('/')[2].partition(':')[0]}", "1,0")
    (cluster,) = account.client("ecs").list_clusters()["clusterArns"]
    machines = account.client("stepfunctions")
    arns = [each["stateMachineArn"] for each in machines.list_state_machines()["stateMachines"]]
    (sweep,) = (each for each in arns if "JobStateMachine" not in each)
    jobs, most = Jobs(account, cluster.rpartition("/")[2]), 0
    started = jobs.start(sweep, json.dumps({"trials": [{"trial": number} for number in range(40)]}))
    while machines.describe_execution(executionArn=started)["status"] == "RUNNING":
        found = account.tasks(jobs.cluster)
        most = max(most, len(found))
    assert machines.describe_execution(executionArn=started)["status"] == "SUCCEEDED"
    assert most == 8
    places = {jobs.environment(each)["JOB_CHECKPOINTS"].rpartition("checkpoints/")[2] for each in jobs.tasks()}
    assert places == {f"{number}/" for number in range(40)}
    cloud.destroy(stack)

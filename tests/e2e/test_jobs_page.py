"""The pipeline and the sweep of ``docs/jobs.md`` on the emulator."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ecs_emulator.local import Deployed, Local

from .cdk_cli import ROOT
from .deployed_jobs import Jobs

PAGE = (ROOT / "docs" / "jobs.md").read_text()


def _deployed(cloud: Local, folder: Path, stack: str) -> Deployed:
    (app,) = (each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if f'"{stack}")' in each)
    exec(app.replace("App()", f"App(outdir={str(folder)!r})"), {})  # noqa: S102 - it is our own
    return cloud.deploy_assembly(folder, stack)


def test_a_pipeline_has_a_step_without_gpus_on_a_cpu_host_and_two_with(cloud: Local, tmp_path: Path) -> None:
    stack = _deployed(cloud, tmp_path, "Pipeline")
    account = cloud.account
    ecs, machines = account.client("ecs"), account.client("stepfunctions")
    for task in ecs.list_task_definitions()["taskDefinitionArns"]:
        cloud.switch(f"ends/{task.rpartition('/')[2].partition(':')[0]}", "0")
    (cluster,) = ecs.list_clusters()["clusterArns"]
    arns = [each["stateMachineArn"] for each in machines.list_state_machines()["stateMachines"]]
    (pipeline,) = (each for each in arns if "JobStateMachine" not in each)
    jobs = Jobs(account, cluster.rpartition("/")[2])
    started = jobs.start(pipeline, json.dumps({}))
    while machines.describe_execution(executionArn=started)["status"] == "RUNNING":
        account.tasks(jobs.cluster)
    assert machines.describe_execution(executionArn=started)["status"] == "SUCCEEDED"
    ran = jobs.tasks()
    assert [sum(len(one["gpuIds"]) for one in each["containers"]) for each in ran] == [0, 1, 1]
    first, second, third = (each["capacityProviderName"] for each in ran)
    assert first != second == third
    cloud.destroy(stack)


def test_a_sweep_runs_eight_trials_at_once_and_goes_on_after_one_that_fails(cloud: Local, tmp_path: Path) -> None:
    stack = _deployed(cloud, tmp_path, "Sweep")
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

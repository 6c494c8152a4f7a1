"""Apps of pages on the emulator: uploads on EFS, the mixed cluster of an existing one, a pipeline and a sweep."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ecs_emulator.local import Deployed, Local

from .cdk_cli import ROOT
from .deployed_jobs import Jobs


def _deployed(cloud: Local, folder: Path, page: str, stack: str) -> Deployed:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL)
    (app,) = (each for each in blocks if f'"{stack}")' in each)
    exec(app.replace("App()", f"App(outdir={str(folder)!r})"), {"__name__": "__main__"})  # noqa: S102 - it is our own
    return cloud.deploy_assembly(folder, stack)


def _ran(cloud: Local, ends: str, **given: object) -> tuple[Jobs, int]:
    """The jobs that a state machine started until it succeeded, and how many tasks there were at once."""
    ecs, machines = cloud.account.client("ecs"), cloud.account.client("stepfunctions")
    for task in ecs.list_task_definitions()["taskDefinitionArns"]:
        cloud.switch(f"ends/{task.rpartition('/')[2].partition(':')[0]}", ends)
    (cluster,) = ecs.list_clusters()["clusterArns"]
    arns = [each["stateMachineArn"] for each in machines.list_state_machines()["stateMachines"]]
    (machine,) = (each for each in arns if "JobStateMachine" not in each)
    jobs, most = Jobs(cloud.account, cluster.rpartition("/")[2]), 0
    started = jobs.start(machine, json.dumps(given))
    while machines.describe_execution(executionArn=started)["status"] == "RUNNING":
        most = max(most, len(cloud.account.tasks(jobs.cluster)))
    assert machines.describe_execution(executionArn=started)["status"] == "SUCCEEDED"
    return jobs, most


def test_tasks_without_gpus_run_on_cpu_hosts_of_the_default_strategy(cloud: Local, tmp_path: Path) -> None:
    stack = _deployed(cloud, tmp_path, "existing-clusters", "Mixed")
    ecs = cloud.account.client("ecs")
    (report,) = (each for each in ecs.list_task_definitions()["taskDefinitionArns"] if "Report" in each)
    (waits,) = cloud.account.run(cluster="mixed", taskDefinition=report).tasks
    cloud.minutes("mixed", 5)
    hosts = {each.instance_id: each.instance_type for each in cloud.account.hosts("mixed")}
    running = [each for each in cloud.account.tasks("mixed") if each.status == "RUNNING"]
    assert {hosts[str(each.instance_id)] for each in running} == {"c7i.large"}
    assert waits in {each.arn for each in running}
    assert len(running) == 3
    (one, *_) = ecs.list_container_instances(cluster="mixed")["containerInstanceArns"]
    (host,) = ecs.describe_container_instances(cluster="mixed", containerInstances=[one])["containerInstances"]
    assert {"name": "accelerator", "value": "none"} in [
        {"name": each["name"], "value": each.get("value")} for each in host["attributes"]
    ]
    cloud.account.stop_all("mixed")
    cloud.destroy(stack)


def test_a_task_with_a_volume_for_uploads_runs(cloud: Local, tmp_path: Path) -> None:
    stack = _deployed(cloud, tmp_path, "guide", "Captions")
    (cluster,) = cloud.account.client("ecs").list_clusters()["clusterArns"]
    assert [each.status for each in cloud.account.tasks(cluster.rpartition("/")[2])] == ["RUNNING"]
    cloud.destroy(stack)
    efs = cloud.account.client("efs")
    (kept,) = efs.describe_file_systems()["FileSystems"]  # as CDK keeps it
    efs.delete_file_system(FileSystemId=kept["FileSystemId"])


def test_a_pipeline_has_a_step_without_gpus_on_a_cpu_host_and_two_with(cloud: Local, tmp_path: Path) -> None:
    stack = _deployed(cloud, tmp_path, "jobs", "Pipeline")
    ran = _ran(cloud, "0")[0].tasks()
    assert [sum(len(one["gpuIds"]) for one in each["containers"]) for each in ran] == [0, 1, 1]
    first, second, third = (each["capacityProviderName"] for each in ran)
    assert first != second == third
    cloud.destroy(stack)


def test_a_sweep_runs_eight_trials_at_once_and_goes_on_after_one_that_fails(cloud: Local, tmp_path: Path) -> None:
    stack = _deployed(cloud, tmp_path, "jobs", "Sweep")
    jobs, most = _ran(cloud, "1,0", trials=[{"trial": number} for number in range(40)])
    assert most == 8
    places = {jobs.environment(each)["JOB_CHECKPOINTS"].rpartition("checkpoints/")[2] for each in jobs.tasks()}
    assert places == {f"{number}/" for number in range(40)}
    cloud.destroy(stack)

"""Tasks without GPUs on a cluster with GPU hosts, as the last app of ``docs/existing-clusters.md`` has it."""

from __future__ import annotations

import re
from pathlib import Path

from ecs_emulator.local import Local

from .cdk_cli import ROOT

GUIDE = (ROOT / "docs" / "existing-clusters.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
(MIXED,) = [each for each in BLOCKS if '"Mixed"' in each]


def test_tasks_without_gpus_run_on_cpu_hosts_of_the_default_strategy(cloud: Local, tmp_path: Path) -> None:
    text = MIXED.replace("app = App()", f"app = App(outdir={str(tmp_path)!r})")
    exec(compile(text, "existing-clusters.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - it is our own
    stack = cloud.deploy_assembly(tmp_path, "Mixed")
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

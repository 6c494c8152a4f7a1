"""A cluster of plain CDK gains GPU capacity from another app and loses nothing.

The other app is the first of ``docs/existing-clusters.md``; the names of its network are those that were deployed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ecs_emulator.account import Account
from ecs_emulator.local import Local

from .cdk_cli import ROOT
from .plain_cluster import CLUSTER, THEIRS, plain_cluster

OURS = "Gpu"
GUIDE = (ROOT / "docs" / "existing-clusters.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
APP = BLOCKS[0]
(MIXED,) = [each for each in BLOCKS if '"Mixed"' in each]
WITHOUT_SERVICE = re.sub(r"chat = .*\n(?=app.synth)", "", APP, flags=re.DOTALL)
WITHOUT_CAPACITY = re.sub(r"l4 = .*\n", "", WITHOUT_SERVICE)


def _ours(directory: Path, network: dict[str, str], text: str) -> Path:
    for old, new in (
        ("app = App()", f"app = App(outdir={str(directory)!r})"),
        ("vpc-0123456789abcdef0", network["Network"]),
        ("subnet-0123456789abcdef0", network["First"]),
        ("subnet-0123456789abcdef1", network["Second"]),
    ):
        assert old in text
        text = text.replace(old, new)
    exec(compile(text, "existing-clusters.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - it is our own
    return directory


def _described(account: Account) -> tuple[list[str], list[str]]:
    """The capacity providers of the cluster, and those of its default strategy."""
    (cluster,) = account.client("ecs").describe_clusters(clusters=[CLUSTER])["clusters"]
    strategy: list[dict[str, Any]] = cluster["defaultCapacityProviderStrategy"]
    return cluster["capacityProviders"], [each["capacityProvider"] for each in strategy]


def _running(account: Account) -> dict[str, str]:
    """The type of the host that each family's task runs on."""
    for _ in range(5):
        hosts = {each.instance_id: each.instance_type for each in account.hosts(CLUSTER)}
    return {
        re.sub(r"^Gpu(\w+?)[0-9A-F]{8}$", r"\1", each.family.rpartition("/")[2].partition(":")[0]): hosts[
            str(each.instance_id)
        ]
        for each in account.tasks(CLUSTER)
        if each.status == "RUNNING"
    }


def test_a_cluster_gains_gpu_capacity_and_loses_nothing(cloud: Local, tmp_path: Path) -> None:
    account = cloud.account
    theirs = cloud.deploy_assembly(plain_cluster(tmp_path / "theirs"), THEIRS)
    assert _running(account) == {"web": "c7i.large"}

    def template(folder: str, text: str) -> dict[str, Any]:
        written: dict[str, Any] = json.loads(
            (_ours(tmp_path / folder, dict(theirs.outputs), text) / f"{OURS}.template.json").read_text()
        )
        return written

    ours = cloud.deploy(template("ours", APP), OURS)
    assert _described(account) == (["cpu", "l4"], ["cpu"])
    assert _running(account) == {"web": "c7i.large", "Chat": "g6.xlarge"}

    cloud.update(ours, template("idle", WITHOUT_SERVICE))
    cloud.update(ours, template("without", WITHOUT_CAPACITY))
    assert _described(account) == (["cpu"], ["cpu"])
    cloud.destroy(ours)
    assert _described(account) == (["cpu"], ["cpu"])
    assert _running(account) == {"web": "c7i.large"}

    cloud.destroy(theirs)


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

"""The first app of ``docs/monitoring.md``: deployed, watched and destroyed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ecs_emulator.local import Local

from .cdk_cli import ROOT

PAGE = (ROOT / "docs" / "monitoring.md").read_text()


def test_a_watched_cluster_has_its_dashboard_before_it_has_a_host_and_leaves_nothing(
    cloud: Local, tmp_path: Path
) -> None:
    app, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "App()" in app
    exec(app.replace("App()", f"App(outdir={str(tmp_path)!r})"), {})  # noqa: S102 - it is our own
    stack = cloud.deploy_assembly(tmp_path, "Watched")

    shown = cloud.account.client("cloudwatch").get_dashboard(DashboardName=stack.outputs["Dashboard"])
    titles = [each["properties"].get("title") for each in json.loads(shown["DashboardBody"])["widgets"]]
    assert {"GPUs of L4", "GPUs of Spot"} <= {*titles}
    for _ in range(5):
        hosts, tasks = (getattr(cloud.account, each)(stack.outputs["ClusterName"]) for each in ("hosts", "tasks"))
    assert {each.instance_id for each in tasks if "Collector" in each.family} == {each.instance_id for each in hosts}
    cloud.destroy(stack)

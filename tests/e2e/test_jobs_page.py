"""The first app of ``docs/jobs.md``: deployed, run from zero hosts, and destroyed.

The page of the emulator does so by the real command line, with another job, see `test_emulator_page`.
"""

from __future__ import annotations

import re
from pathlib import Path

from emulator.local import Local
from gpu_constructs.account.jobs import run_job

from .cdk_cli import ROOT

PAGE = (ROOT / "docs" / "jobs.md").read_text()


def test_a_job_is_deployed_run_interrupted_resumed_and_destroyed(cloud: Local, tmp_path: Path) -> None:
    app, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "App()" in app
    exec(app.replace("App()", f"App(outdir={str(tmp_path)!r})"), {})  # noqa: S102 - it is our own
    stack = cloud.deploy_assembly(tmp_path, "Training")
    (task,) = cloud.account.client("ecs").list_task_definitions()["taskDefinitionArns"]
    cloud.switch(f"ends/{task.rpartition('/')[2].partition(':')[0]}", "spot,0")

    end = run_job(
        stack.outputs["Machine"],
        job_input={"epochs": 1},
        client=lambda service, _region: cloud.account.client(service),
        poll_seconds=0,
    )

    assert end.exit_code == 0
    assert end.log_stream is not None
    assert re.fullmatch(r"train/train/[\w-]+", end.log_stream)
    cloud.destroy(stack)

"""The end-to-end test is the demo: the same story, told to pytest."""

from __future__ import annotations

import os
from pathlib import Path

from stacks.nvidia_smi import NvidiaSmiStack

from tests.synthesis import app_in

from .account import Account
from .cdk_cli import Cdk
from .local import Local
from .scenario import BENCHMARK, Scenario
from .server import ROOT, emulator


def test_the_benchmark_stack_deploys_runs_updates_and_goes_without_a_trace(tmp_path: Path) -> None:
    assert Cdk.is_installed(), "no `cdk` on the PATH; `make setup` installs it"
    with emulator(tmp_path) as running:
        # CDK's own validation takes half of a synth; it is on where the other stories of the app are synthesized.
        environment = {**running.environment(os.environ), "CDK_VALIDATION": "false"}
        command_line = Cdk(project=ROOT, work=tmp_path, environment=environment)
        for step in Scenario(story=BENCHMARK, cdk=command_line, account=Account(running)).steps:
            step.act()


def test_the_check_task_runs_on_the_family_it_is_kept_to(cloud: Local, tmp_path: Path) -> None:
    app = app_in(tmp_path)
    NvidiaSmiStack(app, "nvidia-smi")
    app.synth()
    stack = cloud.deploy_assembly(tmp_path, "nvidia-smi")
    cluster = stack.outputs["ClusterName"]

    (task,) = cloud.account.run_command(stack.outputs["NvidiaSmiRunTask"]).tasks
    minutes = [cloud.account.tasks(cluster)[0] for _ in range(5)]
    hosts = {host.instance_id: host.instance_type for host in cloud.account.hosts(cluster)}

    assert minutes[-1].arn == task
    assert minutes[-1].status == "RUNNING"
    assert len(set(minutes[-1].gpus)) == 2
    assert hosts[str(minutes[-1].instance_id)].startswith("g6.")

    cloud.account.stop_all(cluster)
    cloud.destroy(stack)

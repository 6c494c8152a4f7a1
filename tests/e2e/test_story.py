"""The end-to-end test is the demo: the same story, told to pytest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .account import Account
from .cdk_cli import Cdk
from .inventory import inventory
from .scenario import BENCHMARK, Scenario
from .server import ROOT, Emulator

pytestmark = pytest.mark.e2e


@pytest.fixture
def cdk(running: Emulator, tmp_path: Path) -> Cdk:
    assert Cdk.is_installed(), "no `cdk` on the PATH; `make setup` installs it"
    return Cdk(project=ROOT, work=tmp_path, environment=running.environment(os.environ))


@pytest.mark.xdist_group("story")
def test_the_benchmark_stack_deploys_runs_updates_and_goes_without_a_trace(cdk: Cdk, account: Account) -> None:
    for step in Scenario(story=BENCHMARK, cdk=cdk, account=account).steps:
        step.act()


@pytest.mark.xdist_group("story")
def test_the_check_task_runs_on_the_family_it_is_kept_to(cdk: Cdk, account: Account) -> None:
    assembly = cdk.synth("nvidia-smi", {})
    cdk.bootstrap(assembly)
    before = inventory(account.client)
    outputs = cdk.deploy(assembly, "nvidia-smi")
    cluster = outputs["ClusterName"]

    (task,) = account.run_command(outputs["NvidiaSmiRunTask"]).tasks
    minutes = [account.tasks(cluster)[0] for _ in range(5)]
    hosts = {host.instance_id: host.instance_type for host in account.hosts(cluster)}

    assert minutes[-1].arn == task
    assert minutes[-1].status == "RUNNING"
    assert len(set(minutes[-1].gpus)) == 2
    assert hosts[str(minutes[-1].instance_id)].startswith("g6.")

    account.stop_all(cluster)
    cdk.destroy(assembly, "nvidia-smi")
    assert inventory(account.client) == before

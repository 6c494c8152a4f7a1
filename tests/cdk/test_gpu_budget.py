"""A budget for the hosts of an app, and the line that says what they cost."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
import pytest

from gpu_constructs import GpuBudget, GpuService
from tests.synthesis import Site


def test_hosts_above_the_lowest_of_several_budgets_fail_the_synth(site: Site) -> None:
    site.capacity("g6.xlarge", max_instances=2)  # 2 * $0.8048
    GpuBudget.add_to(site.stack, usd_per_hour=2)
    assert site.warnings() == []
    for usd in (1.5, 3):
        GpuBudget.add_to(site.app, usd_per_hour=usd)
    with pytest.raises(RuntimeError) as refused:
        site.app.synth(force=True)
    said = " ".join(str(refused.value).split())
    assert "the hosts can cost $1.61 an hour, which is $0.11 above the budget of $1.50" in said


def test_a_pool_is_called_as_in_the_app_where_its_template_has_no_paths(tmp_path: Path) -> None:
    context = {"aws:cdk:enable-path-metadata": False}
    site = Site(cdk.App(outdir=str(tmp_path), analytics_reporting=False, context=context))
    site.capacity("g6.xlarge", max_instances=2)
    GpuBudget.add_to(site.app, usd_per_hour=1)
    with pytest.raises(RuntimeError) as refused:
        site.app.synth()
    assert "Cluster/Capacity $1.61" in str(refused.value)


def test_what_is_not_known_is_a_warning_that_can_be_acknowledged(site: Site) -> None:
    pool = site.capacity("g6.xlarge", max_instances=site.number("Hosts"))
    GpuBudget.add_to(site.app, usd_per_hour=2)
    found = [each for each in site.warnings() if each.startswith("budget-not-known")]
    assert ["how many hosts there are is not known before the deploy" in each for each in found] == [True]
    cdk.Validations.of(pool).acknowledge(
        cdk.Acknowledgment(id="gpu-constructs::budget-not-known", reason="the parameter is at most 2")
    )
    assert [each for each in site.warnings() if each.startswith("budget")] == []


def _lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Ours; old releases of aws-cdk-lib write lines of their own."""
    return [each for each in capsys.readouterr().err.splitlines() if each.startswith("gpu-constructs: ")]


def test_short_lines_say_what_hosts_cost(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = site.task()
    task.add_gpu_container("chat", image=site.image, gpus=1)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, desired_count=2)
    site.app.synth()
    assert _lines(capsys) == [
        "gpu-constructs: hosts 2, GPUs 2, an hour $1.61 to $1.96 at the desired counts",
        "gpu-constructs: hosts 8, GPUs 8, an hour $6.44 to $7.82 at MaxSize",
        "gpu-constructs: quotas, in vCPUs: L-DB2E81BA (on-demand G/VT) 64",
        "gpu-constructs: prices are those of us-east-1, since no region is known",
    ]
    monkeypatch.setenv("GPU_CONSTRUCTS_QUIET", "1")
    site.app.synth(force=True)
    assert _lines(capsys) == []

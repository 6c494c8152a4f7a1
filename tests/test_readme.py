"""Every Python block of the README and the guide runs, every link leads somewhere, and the numbers are true."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.cli.program import main
from gpu_constructs.cluster.capacity.purchase import DRAIN_MINUTES
from gpu_constructs.facts import accelerated, instance_type
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.placement.pool_profile import share_of
from gpu_constructs.rules import Severity, all_rules
from tests.documented import APPS, BLOCKS, PAGES, blocks_of, names_of
from tests.synthesis import ROOT

README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "capacity.md").read_text()
_LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page}-{place}" for place, (page, _) in enumerate(BLOCKS)])
def test_a_block_runs(page: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names_of(page, block)  # warnings are errors here as everywhere


@pytest.mark.parametrize(
    "page",
    [*PAGES, *APPS, "docs/gallery.md", "docs/emulator.md", "docs/stacks.md", "docs/comparison.md", "CHANGELOG.md"],
)
def test_a_link_leads_somewhere(page: str) -> None:
    for target, _ in _LINK.findall((ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


@pytest.mark.parametrize(
    ("page", "types"),
    [
        ("docs/capacity.md", {"AWS::AutoScaling::WarmPool", "AWS::EC2::PlacementGroup"}),
        ("docs/batch.md", {"AWS::Batch::SchedulingPolicy", "AWS::Scheduler::Schedule"}),
        ("docs/training.md", {"AWS::Batch::JobDefinition", "AWS::EFS::FileSystem"}),
    ],
)
def test_the_page_is_one_app_that_runs(page: str, types: set[str]) -> None:
    names = names_of(page, "\n".join(blocks_of(page)))
    folder = Path(names["app"].synth().directory)
    resources = json.loads((folder / names["stack"].template_file).read_text())["Resources"].values()
    assert types <= {each["Type"] for each in resources}
    found = check_files([folder]).findings
    assert [each for each in found if each.severity is not Severity.INFO] == []


def test_the_check_says_what_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "tests" / "readme")
    assert main(["check", "template.yaml"]) == 1
    shown = README.partition("$ gpu-constructs check template.yaml\n")[2].partition("```")[0]
    assert capsys.readouterr().out == shown


def test_the_first_example_takes_about_ten_lines() -> None:
    lines = [line for line in BLOCKS[0][1].splitlines() if line.strip() and not line.startswith(("from", "import"))]
    assert len(lines) <= 10


def test_the_numbers_are_true() -> None:
    share = share_of({instance_type(each): Fraction(1) for each in ("g6.xlarge", "g6.2xlarge")})
    assert f"({share.cpu // 1024} vCPUs and {share.memory_mib:,} MiB on g6.xlarge)" in README
    assert f"{len(accelerated())} accelerated instance types" in README
    memory = instance_type("g6.xlarge").gpu_memory_mib
    assert memory is not None
    fifties = len(all_rules()) // 50 * 50
    assert f"Over {fifties} rules" in (ROOT / "CHANGELOG.md").read_text()
    assert f"{DRAIN_MINUTES} minutes before its\n  end (`drain_minutes`)" in GUIDE
    efa = {
        name: sum(each.is_efa for each in efa_layout(instance_type(name)) or ())
        for name in ("p5.48xlarge", "p6-b300.48xlarge")
    }
    assert (
        f"({efa['p5.48xlarge']} on p5.48xlarge, {efa['p6-b300.48xlarge']} and an ENA card on\np6-b300.48xlarge)"
        in GUIDE
    )
    assert f"an L4 has {memory // 1024}.{memory % 1024 * 10 // 1024} GiB" in README


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)`|^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{''.join(target)}:", makefile, re.MULTILINE), target

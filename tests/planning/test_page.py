"""The page of a plan without a browser: its hosts are those of the proof, and no name is markup."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, ComputeEnvironment, Fleet, ResourceRequirement, Workload
from gpu_constructs.planning import FleetPlan, plan
from gpu_constructs.planning.host_layout import Devices, PoolLayout, SlotUse, layouts_of
from gpu_constructs.planning.page import page
from tests.planning.drawn_fleet import drawn_fleet, shared
from tests.planning.given import fleet, planned, pool, service
from tools.draw_plan_page import PICTURES, mark, marked_with

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>",
    "a" * 100_000,
    "\u202egpj.exe",  # turns what follows around
    "\ud800",  # half of a character
    "\x00\x1b[31m&amp;",
    "שלום",
    "",
)


class Tags(HTMLParser):
    """Every element and attribute of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags = Counter[str]()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def layout_of(found: FleetPlan, name: str) -> PoolLayout:
    (layout,) = (each for each in layouts_of(found) if each.plan.pool.name == name)
    return layout


def test_the_slots_are_those_of_the_packing() -> None:
    found = plan(drawn_fleet())
    for layout, proof in zip(layouts_of(found), found.proof.pools, strict=True):
        if layout.why_unknown:
            continue
        packing = proof.packing
        assert packing is not None
        hosts = sum(each.hosts for each in layout.hosts)
        assert hosts - layout.missing == found.pools[found.proof.pools.index(proof)].desired.hosts
        copies = Counter[int]()
        for each in layout.hosts:
            copies.update({of.load: each.hosts * of.number for of in each.copies})
        assert [copies[place] for place in range(len(packing.placed))] == packing.placed
        held = sum(load.need.units[0] * placed for load, placed in zip(packing.loads, packing.placed, strict=True))
        assert layout.slots(SlotUse.HELD) == held


def test_many_hosts_that_are_alike_are_drawn_once() -> None:
    (drawn,) = layout_of(plan(drawn_fleet()), "Batch/Small").hosts
    assert drawn.hosts == 250
    assert "250 &times;" in page(plan(drawn_fleet()))


def test_copies_share_a_gpu_as_the_proof_has_it() -> None:
    on = pool("g6.xlarge")  # 22 GiB of one GPU, of which 20 are sure
    found = planned(shared(service(on, copies=3), 9_000))
    full, rest = layout_of(found, "L4").hosts
    assert [(slot.use, [of.number for of in slot.copies]) for slot in full.slots] == [(SlotUse.SHARED, [2])]
    assert [of.number for of in rest.slots[0].copies] == [1]


def test_gpus_that_no_task_can_use_are_marked_with_what_is_used_up() -> None:
    (drawn,) = layout_of(planned(service(pool("g6.12xlarge"), vcpus=20, copies=2)), "L4").hosts
    assert [slot.use for slot in drawn.slots].count(SlotUse.STRANDED) == 2
    assert drawn.lacking == ("CPU",)
    assert "2 GPUs idle, because CPU is used up" in page(planned(service(pool("g6.12xlarge"), vcpus=20, copies=2)))


def with_container(workload: Workload, **changes: Any) -> Workload:
    task = workload.task
    assert task is not None
    return replace(workload, task=replace(task, containers=(replace(task.containers[0], **changes),)))


def test_a_part_of_a_gpu_and_neuron_devices_are_slots_of_their_own() -> None:
    part = with_container(service(pool("g6f.large")), requirements=(ResourceRequirement(value="0.125"),))
    layout = layout_of(planned(part), "L4")
    assert (layout.devices, [slot.use for slot in layout.hosts[0].slots]) == (Devices.GPU_PART, [SlotUse.HELD])
    chips = with_container(service(pool("inf2.48xlarge")), requirements=(), devices=("/dev/neuron0",))
    layout = layout_of(planned(chips), "L4")  # no two tasks with such devices have room on one host
    assert (layout.devices, layout.slots(SlotUse.HELD)) == (Devices.NEURON, 12)


def test_gpus_of_daemons_are_those_of_no_task() -> None:
    on = pool()
    watch = replace(service(on, name="watch"), daemon=True)
    layout = layout_of(planned(service(on, copies=3), watch), "L4")
    (drawn,) = layout.hosts
    assert [slot.use for slot in drawn.slots] == [SlotUse.HELD] * 3 + [SlotUse.DAEMONS]
    assert layout.daemons == ("watch",)


def test_hosts_beyond_max_size_are_said() -> None:
    layout = layout_of(planned(service(pool(max_instances=1), copies=8)), "L4")
    assert (sum(each.hosts for each in layout.hosts), layout.missing) == (2, 1)


def test_hosts_that_wait_for_tasks_are_free() -> None:
    (drawn,) = layout_of(planned(pools=(pool(min_instances=2),)), "L4").hosts
    assert (drawn.hosts, {slot.use for slot in drawn.slots}) == (2, {SlotUse.FREE})


@pytest.mark.parametrize("copies", [UNKNOWN, 3])
def test_what_is_not_known_is_not_drawn_as_free(copies: object) -> None:
    on = pool() if copies is UNKNOWN else pool(has_unknown_types=True)
    layout = layout_of(planned(service(on, copies=copies)), "L4")
    assert layout.why_unknown
    assert not layout.hosts
    (task,) = layout.tasks
    assert task.copies == (None if copies is UNKNOWN else copies)
    assert task.need is not None
    assert task.need.units[0] == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_no_markup(name: str) -> None:
    plain = Tags(page(planned(service(pool(name="L4"), name="chat"))))
    found = page(planned(service(pool(name=name), name=name)), title=name)
    odd = Tags(found)
    assert odd.tags == plain.tags
    assert odd.attributes == plain.attributes
    assert "script" not in odd.tags
    assert found.isascii()
    assert not {"\u202e", "\x00", "\x1b", "\ud800"} & set(odd.words)
    assert len(found) < 60_000


def test_a_price_of_another_region_is_said_at_its_pool() -> None:
    found = page(plan(fleet(service(pool(region="eu-west-1")))))
    assert "of us-east-1, because no list here has one for g6.12xlarge in eu-west-1" in found


def test_a_page_takes_nothing_from_elsewhere() -> None:
    tags = Tags(page(plan(drawn_fleet())))
    assert not tags.attributes & {"src", "srcset", "style", "onclick", "onload"}
    assert not tags.tags.keys() & {"script", "link", "img", "iframe", "object", "form"}
    assert re.findall(r'href="([^"]*)"', page(plan(drawn_fleet()))) == ["#pools"]


def test_a_large_fleet_is_a_page_of_a_few_mebibytes() -> None:
    pools = [pool(name=f"pool {place} {'x' * 300}", max_instances=10_000) for place in range(250)]
    services = [
        service(each, name=f"task {number} of {each.name}", gpus=number % 3 + 1, vcpus=number + 1, copies=number + 1)
        for each in pools
        for number in range(12)
    ]
    found = page(plan(fleet(*services), cheaper=False))
    assert len(found) < 4 * 1024 * 1024
    assert "50 more pools are counted and not shown" in found
    assert "are not drawn" in found


def test_the_same_plan_gives_the_same_bytes() -> None:
    program = (
        "from gpu_constructs.planning import plan; from gpu_constructs.planning.page import page;"
        "from tests.planning.drawn_fleet import drawn_fleet; print(page(plan(drawn_fleet())), end='')"
    )
    seeded = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert seeded.stdout == page(plan(drawn_fleet()))


def test_what_never_starts_or_ends_is_to_be_looked_at() -> None:
    on = pool("g6.xlarge", max_instances=3)
    shown = page(plan(fleet(service(on, gpus=8, name="large"), service(on, copies=2, deployment_strategy="CANARY"))))
    said = re.sub(r"<[^>]*>", "", shown)
    assert "large, which is sent to L4 and fits on none of its hosts" in said
    assert "L4 has no room for both versions of chat" in said


def test_an_empty_fleet_has_a_page() -> None:
    assert "nothing is planned" in page(plan(Fleet(pools=(), workloads=())))
    chosen = page(plan(Fleet(environments=(ComputeEnvironment(name="Optimal"),))))
    assert "Nothing is planned, because the types of hosts are not in these files" in chosen
    assert "Optimal" in chosen


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_the_pictures_in_the_guide_are_up_to_date(path: Path) -> None:
    assert marked_with(path.read_bytes()) == mark(), "run `python -m tools.draw_plan_page`"
    assert path.stat().st_size < 150 * 1024

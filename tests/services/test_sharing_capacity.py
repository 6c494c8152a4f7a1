"""Services that share hosts can each be deployed at every number of tasks that all of them may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import aws_cdk as cdk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs import GpuService, GpuTaskDefinition
from gpu_constructs.fleet import Pool, StrategyItem, Unknown, Workload, known, total
from gpu_constructs.placement.rollout import pool_needs, task_slots
from gpu_constructs.services.deployment import Sharer
from tests.examples import times
from tests.placement.given import a_pool, a_task
from tests.services.scaled_services import queue_of
from tests.synthesis import Site

POOLS = (a_pool("g6.xlarge", name="Small", max_instances=3), a_pool("g6.12xlarge", name="Large", max_instances=2))
GPUS = {"Small": 1, "Large": 4}


@dataclass(eq=False)
class Service:
    """A service whose tasks have so many GPUs, and of which there may be so many."""

    gpus: int
    pools: list[Pool]
    most: int
    least: int | None = None

    def __post_init__(self) -> None:
        strategy = tuple(StrategyItem(provider=each.name, pool=each, weight=1) for each in self.pools)
        task = a_task(str(self.gpus))
        needs = pool_needs(Workload(name="s", task=task, strategy=strategy))
        room = total(task_slots(task, each) for each in self.pools)
        self.sharer = Sharer(
            needs=needs, copies=self.most, room=room, given=(None, None), least=self.least, write=lambda _: None
        )


def met(services: list[Service]) -> list[Service]:
    """As services do when they are defined, one after the other."""
    for place, each in enumerate(services):
        each.sharer.count(of.sharer for of in services[:place])
        each.sharer.tell_others()
    return services


@dataclass
class Hosts:
    """Free GPUs of each host, and where tasks run, by a reading of the documentation of ECS of its own."""

    free: list[tuple[str, int]] = field(
        default_factory=lambda: [
            (each.name, GPUS[each.name]) for each in POOLS for _ in range(known(each.max_instances))
        ]
    )

    def may_take(self, of: Service) -> list[int]:
        pools = {each.name for each in of.pools}
        return [place for place, (pool, free) in enumerate(self.free) if pool in pools and free >= of.gpus]

    def change(self, place: int, gpus: int) -> None:
        pool, free = self.free[place]
        self.free[place] = pool, free + gpus


def deploys(hosts: Hosts, of: Service, running: list[int]) -> bool:
    """Whether a rolling deployment ends, played by the rules of the ECS documentation.

    A new task starts where there is room and maximumPercent, rounded down, allows it; else an old one stops if
    minimumHealthyPercent, rounded up, allows that.
    """
    count, percent = len(running), of.sharer.percentages
    old, new = list(running), 0
    for _ in range(4 * count + 4):
        if new == count and not old:
            return True
        room = hosts.may_take(of)
        if new < count and room and len(old) + new < count * percent.most // 100:
            hosts.change(room[0], -of.gpus)
            new += 1
        elif old and len(old) + new - 1 >= -(-count * percent.least // 100):
            hosts.change(old.pop(), of.gpus)
        else:
            return False
    return False


SERVICES = st.builds(
    Service,
    gpus=st.sampled_from([1, 1, 2, 4]),
    pools=st.sampled_from([[POOLS[1]], [POOLS[1]], list(POOLS), [POOLS[0]]]),
    most=st.integers(min_value=1, max_value=6),
    least=st.sampled_from([None, 0, 1, 2]),
).filter(lambda each: not isinstance(each.sharer.room, Unknown) and (each.least or 0) <= each.most)


@settings(max_examples=times(20))
@given(st.lists(SERVICES, min_size=1, max_size=4), st.data())
def test_each_can_be_deployed_wherever_the_tasks_of_all_of_them_are(
    services: list[Service], data: st.DataObject
) -> None:
    hosts = Hosts()
    running: list[list[int]] = []
    for each in met(services):
        wanted = each.most
        if each.least is not None:
            wanted = data.draw(st.integers(min_value=each.least, max_value=each.most))
        running.append([])
        for _ in range(wanted):
            room = hosts.may_take(each)
            if not room:
                return  # the fleet cannot hold them, which other rules say
            running[-1].append(data.draw(st.sampled_from(room)))
            hosts.change(running[-1][-1], -each.gpus)
    for each, places in zip(services, running, strict=True):
        if places:
            before = list(hosts.free)
            assert deploys(hosts, each, places)
            hosts.free = before


def served(site: Site, *counts: int | None, stack: cdk.Stack | None = None, **arguments: Any) -> list[GpuService]:
    capacity = site.l4  # room for 8
    found = []
    for place, count in enumerate(counts):
        task = GpuTaskDefinition(stack or site.stack, f"Task{place}", capacity=[capacity])
        task.add_gpu_container("vllm", image=site.image)
        name = f"Service{place}"
        found.append(
            GpuService(
                stack or site.stack, name, cluster=site.cluster, task_definition=task, desired_count=count, **arguments
            )
        )
    return found


def test_a_service_of_another_stack_that_comes_later_changes_those_that_are_there(site: Site) -> None:
    (first,) = served(site, 4)
    assert (first.workload.min_healthy_percent, first.workload.max_healthy_percent) == (100, 200)
    other = cdk.Stack(site.app, "Other")
    (second,) = served(site, 3, stack=other)
    assert (first.workload.min_healthy_percent, first.workload.max_healthy_percent) == (100, 125)
    (third,) = served(site, 1, stack=cdk.Stack(site.app, "Third"))
    expected = {"Service0": (75, 100), "Other": (66, 100), "Third": (0, 100)}
    for each, stack, of in zip(
        (first, second, third), (site.stack, other, third.stack), expected.values(), strict=True
    ):
        (written,) = [each["DeploymentConfiguration"] for each in site.properties("AWS::ECS::Service", stack)]
        assert (written["MinimumHealthyPercent"], written["MaximumPercent"]) == of
        assert (each.workload.min_healthy_percent, each.workload.max_healthy_percent) == of
    assert site.warnings(unchanged=True) == []


@pytest.mark.parametrize("desired", [1, None])
def test_scaling_counts_for_the_others(site: Site, desired: int | None) -> None:
    first, second = served(site, 1, desired)
    second.scale(by=[queue_of(site)], min_tasks=2, max_tasks=7)
    assert (first.workload.min_healthy_percent, second.workload.min_healthy_percent) == (0, 85)
    written = [each["DeploymentConfiguration"] for each in site.properties("AWS::ECS::Service")]
    assert [(each["MinimumHealthyPercent"], each["MaximumPercent"]) for each in written] == [(0, 100), (85, 200)]
    assert site.warnings(unchanged=True) == []


def test_what_was_given_stays_and_the_check_names_the_others(site: Site) -> None:
    served(site, 4, 4, min_healthy_percent=100)
    warnings = site.warnings()
    assert len(warnings) == 2
    assert all("GPU010" in each for each in warnings)
    assert "Service1 runs on Cluster/L4 as well" in warnings[0]

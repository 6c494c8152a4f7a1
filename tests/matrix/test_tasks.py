"""Every combination of what a container asks, what hosts there are and how they are launched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from gpu_constructs import GpuConstructsError, GpuService, GpuTaskDefinition, IncompatibleError
from gpu_constructs.tasks.task_target import Capacity
from tests.matrix.asks import ASKS, LANDINGS, MODES, Ask, Host, Mode
from tests.matrix.task_contradictions import CONTRADICTIONS, Combination
from tests.matrix.tasks import EVERYTHING, NETWORK_MODES, add_capacity, add_containers, legal
from tests.synthesis import Site, app_in

Hosts = tuple[Host, ...]
Record = Callable[[str, object], None]

OF_EACH_KIND = frozenset(
    {"one GPU", "a quarter of a GPU", "a share", "shared memory", "EFA", "all Neuron devices", "one Neuron device"}
)


def asks_of(hosts: Hosts, mode: Mode | None) -> list[Ask]:
    """What is asked of hosts: every third ask, with a mode of one of each kind; other hosts get the others."""
    if EVERYTHING:
        return list(ASKS)
    turn = LANDINGS.index(hosts)
    if mode is None:
        return list(ASKS[(turn + 1) % 3 :: 3])
    of_each_kind = [each for each in ASKS if each.name in OF_EACH_KIND]
    return of_each_kind[(turn + MODES.index(mode)) % 3 :: 3]


def named(value: Hosts | Mode | None) -> str:
    return " and ".join(each.name for each in value) if isinstance(value, tuple) else f"mode {value}"


class Yard:
    """A cluster on which task definitions are tried, with what they can share."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.capacities: dict[Host, Capacity] = {}
        self.number = 0
        self.log_group = logs.LogGroup(site.stack, "Logs")
        self.role = iam.Role(site.stack, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))

    def capacity(self, host: Host) -> Capacity:
        if host not in self.capacities:
            self.capacities[host] = add_capacity(self.site.cluster, host, f"Capacity{len(self.capacities)}")
        return self.capacities[host]

    def task(self, hosts: Hosts, mode: Mode | None) -> GpuTaskDefinition:
        self.number += 1
        return GpuTaskDefinition(
            self.site.stack,
            f"Task{self.number}",
            capacity=[self.capacity(each) for each in hosts],
            network_mode=None if mode is None else NETWORK_MODES[mode],
            log_group=self.log_group,
            task_role=self.role,
            execution_role=self.role,
        )


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    return Yard(Site(app_in(tmp_path_factory.mktemp("yard"))))


@pytest.mark.parametrize("hosts", LANDINGS, ids=named)
@pytest.mark.parametrize("mode", MODES, ids=named)
def test_a_constructor_takes_what_can_be_and_refuses_what_cannot(yard: Yard, hosts: Hosts, mode: Mode | None) -> None:
    wrong: list[str] = []
    task: GpuTaskDefinition | None = None
    for ask in asks_of(hosts, mode):
        combination, raised = Combination(ask=ask, mode=mode, hosts=hosts), None
        try:
            task = task or yard.task(hosts, mode)
            add_containers(task, ask)
        except GpuConstructsError as error:
            raised = error
        why = combination.contradictions
        is_named = any(type(raised) is each.error and re.search(each.said, str(raised)) for each in why)
        if not (is_named if raised else not why):
            wrong.append(f"{combination}: {raised!r}; expected {[each.name for each in why]}")
        # The next one begins with nothing: a task definition of which a container was refused is as it was.
        if task is not None and task.task.containers:
            yard.site.stack.node.try_remove_child(task.node.id)
            task = None
    assert not wrong, "\n".join(wrong)


def test_every_contradiction_is_the_only_reason_for_a_refusal_somewhere(record_property: Record) -> None:
    every = [
        Combination(ask=ask, mode=mode, hosts=hosts)
        for hosts in LANDINGS
        for mode in MODES
        for ask in asks_of(hosts, mode)
    ]
    met = Counter(each.name for combination in every for each in combination.contradictions)
    alone = Counter(each.contradictions[0].name for each in every if len(each.contradictions) == 1)
    legal_ones = sum(not each.contradictions for each in every)
    record_property("combinations", len(every))
    record_property("legal", legal_ones)
    record_property("refused", f"{len(every) - legal_ones}: {dict(met.most_common())}")
    assert {each.name for each in CONTRADICTIONS} == met.keys() == alone.keys()


def test_a_service_is_of_one_kind(yard: Yard) -> None:
    for hosts in (each for each in LANDINGS if len(each) > 1 and legal(each, [None])):
        task = yard.task(hosts, None)
        add_containers(task, legal(hosts, [None])[0].ask)
        with pytest.raises(IncompatibleError, match=r"has ECS Managed Instances .* and Auto Scaling groups .*GPU140"):
            GpuService(yard.site.stack, f"Of{task.node.id}", cluster=yard.site.cluster, task_definition=task)
        assert yard.site.stack.node.try_find_child(f"Of{task.node.id}") is None

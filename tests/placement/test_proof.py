"""A whole fleet at once: where copies go, which have room, which have none, what stands idle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Bought,
    Container,
    Fleet,
    Pool,
    PurchaseOption,
    ResourceRequirement,
    ServiceScaling,
    StrategyItem,
    Task,
    Unknown,
    Workload,
)
from gpu_constructs.placement.costs import cost_of
from gpu_constructs.placement.proof import Counts, Proof
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.reach import split
from gpu_constructs.placement.rollout import copies_beside_all
from tests.placement.given import a_pool


def pool(*types: str, most: int | Unknown = 4, name: str = "L4", least: int = 0) -> Pool:
    """A pool of hosts with 4 GPUs, 48 vCPUs and 192 GiB, where no types are given."""
    given = {"name": name, "cluster": "gpu", "min_instances": least, "max_instances": most}
    return a_pool(*(types or ("g6.12xlarge",)), **given)


def task(
    gpus: int | Unknown = 1, *, name: str = "chat", vcpus: float = 1, gib: float = 4, mode: str = "bridge"
) -> Task:
    requirements = (ResourceRequirement.gpus(gpus),) if gpus else ()
    main = Container(name="c", requirements=requirements, cpu=int(vcpus * 1024), memory_limit_mib=int(gib * 1024))
    return Task(name=name, containers=(main,), network_mode=mode)


def service(
    of: Task | None, *pools: Pool, copies: int | Unknown = 1, name: str = "chat", most: int | None = None
) -> Workload:
    return Workload(
        name=name,
        task=of,
        cluster="gpu",
        strategy=tuple(StrategyItem(provider=each.name, pool=each, weight=1) for each in pools),
        desired_count=copies,
        scaling=None if most is None else ServiceScaling(most=most),
    )


def proof_of(*workloads: Workload, counts: Counts = Counts.DESIRED) -> Proof:
    pools = {item.pool.name: item.pool for each in workloads for item in each.strategy if item.pool is not None}
    return prove(Fleet(pools=tuple(pools.values()), workloads=workloads), counts=counts)


def test_what_has_room_alone_may_have_none_together() -> None:
    hosts = pool(most=2)
    proof = proof_of(service(task(3), hosts, copies=2, name="a"), service(task(2), hosts, copies=1, name="b"))
    assert proof.answer is False
    (of_pool,) = proof.pools
    assert (of_pool.answer, of_pool.hosts_at_least, of_pool.hosts_needed, of_pool.decided_by) == (False, 3, 3, "GPUs")
    assert [each.unplaced for each in proof.workloads] == [0, 0]


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(service(task(), pool(), copies=UNKNOWN), id="copies"),
        pytest.param(service(task(), pool(most=UNKNOWN)), id="hosts"),
        pytest.param(service(task(gib=185), pool()), id="memory near the nominal size"),
        pytest.param(service(None, pool()), id="the task"),
        pytest.param(replace(service(task(), pool()), daemon=UNKNOWN), id="daemon"),
    ],
)
def test_unknown_is_never_a_yes_and_never_a_no(workload: Workload) -> None:
    proof = proof_of(workload)
    assert proof.answer is UNKNOWN
    assert [each.placed for each in proof.workloads] == [0]


def test_what_nobody_can_size_leaves_nothing_certain_for_its_neighbours() -> None:
    hosts = pool()
    proof = proof_of(service(task(), hosts, name="a"), service(task(UNKNOWN, name="x"), hosts, name="b"))
    assert [each.answer for each in proof.workloads] == [UNKNOWN, UNKNOWN]
    assert proof.pools[0].hosts_needed is UNKNOWN


@pytest.mark.parametrize(
    ("items", "copies", "shares"),
    [
        pytest.param([(0, 2), (1, 0)], 5, [(0, 2), (3, 5)], id="the page says both"),
        ([(0, 0), (0, 0)], 5, [(0, 5), (0, 5)]),
        ([(UNKNOWN, 0), (1, 0)], 5, [(0, 5), (0, 5)]),
        pytest.param([(-1, 0), (2, 0)], 5, [(0, 5), (0, 5)], id="the API refuses it"),
    ],
)
def test_a_strategy_gives_the_base_first_and_the_rest_by_weight(
    items: list[tuple[int | Unknown, int]], copies: int, shares: list[tuple[int, int]]
) -> None:
    strategy = [
        StrategyItem(provider=str(index), weight=weight, base=base) for index, (weight, base) in enumerate(items)
    ]
    assert [(each.least, each.most) for each in split(strategy, copies, copies)] == shares


def test_daemons_come_first_on_every_host() -> None:
    hosts = pool(most=1)
    daemon = Workload(name="dcgm", task=task(0, name="dcgm", vcpus=4), cluster="gpu", daemon=True)
    full = service(task(4, vcpus=46), hosts)
    assert proof_of(full).answer is True
    proof = proof_of(full, daemon)
    assert proof.answer is False
    assert [(each.workload, each.answer) for each in proof.workloads] == [(full, False), (daemon, True)]


def test_tasks_of_a_launch_type_get_the_hosts_that_are_there_anyway() -> None:
    chat = Workload(name="chat", task=task(), cluster="gpu", launch_type="EC2", desired_count=4)
    for least, answer in ((1, True), (0, UNKNOWN)):
        assert prove(Fleet(pools=(pool(least=least, most=1),), workloads=(chat,))).answer is answer
    many = replace(chat, desired_count=5)
    assert prove(Fleet(pools=(pool(least=1, most=1),), workloads=(many,))).answer is False
    two = (pool(least=1, most=1), pool(least=1, most=1, name="B"))
    assert prove(Fleet(pools=two, workloads=(many,))).answer is True
    full = service(task(4, name="full"), two[0], name="full")
    assert prove(Fleet(pools=two, workloads=(full, chat))).answer is True
    half = service(task(2), two[0], name="half")
    assert prove(Fleet(pools=two[:1], workloads=(half, chat), is_whole=True)).answer is False


def test_a_base_takes_no_more_copies_however_much_room_its_hosts_have() -> None:
    pools = pool(), pool(most=0, name="B"), pool(most=0, name="C")
    first, *others = service(task(), *pools, copies=5).strategy
    strategy = (replace(first, weight=0, base=2), *others)
    proof = proof_of(replace(service(task(), copies=5), strategy=strategy))
    assert [each.unplaced for each in proof.workloads] == [3]


def test_copies_that_may_go_elsewhere_leave_pools_alone_that_they_cannot_use() -> None:
    pools = pool(most=1), pool("g6.xlarge", most=1, name="Small"), pool(most=1, name="Other")
    both = service(task(), *pools[:2], copies=2, name="both")
    free = Workload(name="free", task=task(4, name="four"), cluster="gpu", launch_type="EC2", desired_count=1)
    proof = prove(Fleet(pools=pools, workloads=(both, free)))
    assert copies_beside_all(both, proof.pools[:2], proof) == 3


@pytest.mark.parametrize(
    ("asked", "copies", "stranded"),
    [
        pytest.param({"vcpus": 40}, 2, [(2, 3, 4, ("CPU",))], id="CPU"),
        pytest.param({"vcpus": 16}, 5, [(1, 1, 4, ("CPU",))], id="one more fits on the other host"),
        pytest.param({"gib": 150}, 1, [(1, 3, 4, ("memory",))], id="memory"),
        pytest.param({"gpus": 2, "vcpus": 30, "gib": 120}, 1, [(1, 2, 4, ("CPU", "memory"))], id="both"),
        pytest.param({"vcpus": 12}, 5, [], id="room for more"),
        pytest.param({"gpus": 3}, 2, [], id="too few for another"),
        pytest.param({"gib": 46}, 4, [], id="only if hosts register as little as they may"),
    ],
)
def test_gpus_that_nothing_can_use_are_stranded(
    asked: dict[str, float], copies: int, stranded: list[tuple[int, int, int, tuple[str, ...]]]
) -> None:
    gpus = int(asked.pop("gpus", 1))
    of = task(gpus, vcpus=asked.get("vcpus", 1), gib=asked.get("gib", 4))
    (found,) = proof_of(service(of, pool(), copies=copies)).pools
    assert [(each.hosts, each.gpus, each.gpus_per_host, each.exhausted) for each in found.stranded] == stranded


def test_hosts_have_a_price_with_its_date_and_region() -> None:
    cost = cost_of(pool("g6.12xlarge"), 2)
    assert cost is not None
    assert cost[0] == pytest.approx(2 * 4.6016)
    assert cost[1] == "$9.20 an hour (2 g6.12xlarge, on-demand price, us-east-1, 2026-07-20)"


def test_a_price_says_what_it_is_not() -> None:
    spot = replace(pool("g6.2xlarge", "g6.xlarge"), bought=Bought(option=PurchaseOption.SPOT))
    _, text = cost_of(spot, 1) or (0, "")
    assert text.startswith(
        "from $0.80 an hour (1 g6.xlarge, on-demand price, which these hosts are not bought at; Spot "
    )
    block = replace(pool("p5.48xlarge"), bought=Bought(option=PurchaseOption.CAPACITY_BLOCK))
    assert "not bought at" in str(cost_of(block, 1))
    assert "Spot" not in str(cost_of(block, 1))
    reserved = replace(pool("p5.48xlarge"), bought=Bought(option=PurchaseOption.RESERVED))
    assert "not bought at" not in str(cost_of(reserved, 1))
    assert cost_of(pool("p5e.48xlarge"), 1) is None
    assert cost_of(replace(pool(), has_unknown_types=True), 1) is None


@pytest.mark.parametrize(
    "workload",
    [service(task(), pool(), copies=-3), service(task(), pool(most=-2))],
)
def test_numbers_that_the_api_refuses_do_no_harm(workload: Workload) -> None:
    (found,) = proof_of(workload).workloads
    assert found.placed >= 0
    assert found.unplaced >= 0
    assert proof_of(workload, counts=Counts.MAXIMUM).counts is Counts.MAXIMUM

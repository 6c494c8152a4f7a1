"""Small fleets at random, as the library knows them and as the oracle does: the same numbers, written down twice."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from gpu_constructs.facts import InstanceType, instance_type
from gpu_constructs.fleet import (
    INSTANCE_ATTRIBUTES,
    NO_USER_DATA,
    RESERVATIONS_ONLY,
    UNKNOWN,
    Bought,
    Container,
    Fleet,
    NvidiaMps,
    PlacementConstraint,
    Pool,
    PurchaseOption,
    Reservation,
    ResourceRequirement,
    StrategyItem,
    Subnet,
    Task,
    UserData,
    Workload,
)
from tests.properties.oracle import Job, Kind, Provider, World, as_started

__all__ = ["small_fleet"]

_MODEL = instance_type("g6.12xlarge")
_SYSTEM_PERCENT = 6  # what the library expects a host with NVIDIA GPUs to keep of its memory
_UNSHARED_PERCENT = 8  # and of a GPU's
_TEAMS, _TEAM = ("red", "blue"), '{"team": "%s"}'
_ZONES = ("us-east-1a", "us-east-1b")


def small_fleet(random: Random) -> tuple[Fleet, World]:
    """A fleet of at most three types, four hosts, two daemons and six copies.

    Args:
        random: Where its numbers are from.
    """
    types = [_type(random, index) for index in range(random.randint(1, 3))]
    pools: list[Pool] = []
    providers: list[Provider] = []
    hosts, is_zoned = 4, random.random() < 0.15
    for index in range(random.choice((1, 2, 2))):
        kinds = random.sample(types, random.randint(1, min(2, len(types))))
        most = random.randint(1, hosts - 1) if not index else random.randint(1, hosts)
        hosts -= most
        pool, provider = _pool(random, f"Pool{index}", kinds, most, is_zoned=is_zoned)
        pools.append(pool)
        providers.append(provider)
    daemons = [_daemon(random, index, pools) for index in range(random.choice((0, 0, 1, 1, 2)))]
    providers = [replace(each, daemons=tuple(job for _, job in daemons)) for each in providers]
    workloads: list[Workload] = []
    jobs: list[Job] = []
    copies = random.choice((1, 1, 2, 3, 4, 5, 6))
    while copies:
        some = random.randint(1, copies)
        copies -= some
        workload, job = _workload(random, len(jobs), some, pools)
        workloads.append(workload)
        jobs.append(job)
    workloads += [each for each, _ in daemons]
    fleet = Fleet(pools=tuple(pools), workloads=tuple(workloads), is_whole=True)
    return fleet, as_started(World(tuple(providers), tuple(jobs)))


def _type(random: Random, index: int) -> InstanceType:
    assert _MODEL.accelerators is not None
    return replace(
        _MODEL,
        name=f"x{index}.large",
        vcpus=random.randint(2, 8),
        memory_mib=random.randint(4, 16) * 1024,
        accelerators=replace(_MODEL.accelerators, count=random.choice((1, 2, 4, 4)), memory_mib=10_000),
        network=replace(_MODEL.network, max_interfaces=random.choice((3, 4, 5))),
    )


def _kind(each: InstanceType) -> Kind:
    memory, shared = each.memory_mib, each.gpu_memory_mib or 0
    return Kind(
        gpus=each.gpus,
        gpu_memory=(shared * (100 - _UNSHARED_PERCENT) // 100, shared),
        cpu=each.vcpus * 1024,
        memory=(int(memory * (100 - _SYSTEM_PERCENT) / 100), memory),
        interfaces=(each.network.max_interfaces or 0) - 1,
    )


def _pool(random: Random, name: str, kinds: list[InstanceType], most: int, *, is_zoned: bool) -> tuple[Pool, Provider]:
    team, reserved = random.choice((*_TEAMS, "")), random.choice((None, None, None, None, 1, 2))
    zones = tuple(random.sample(_ZONES, random.choice((1, 1, 2)))) if is_zoned else ()
    least, is_scaled = random.choice((0, 0, 0, 0, 1)), random.random() < 0.9
    reservation = Reservation(preference=RESERVATIONS_ONLY, id="cr-0123456789abcdef0", instances=reserved)
    pool = Pool(
        name=name,
        instance_types=tuple(kinds),
        image=UNKNOWN,
        min_instances=min(least, reserved or most),
        max_instances=most,
        managed_scaling=is_scaled,
        cluster="c",
        subnets=tuple(Subnet(zone=each) for each in zones),
        bought=Bought() if reserved is None else Bought(option=PurchaseOption.RESERVED, reservation=reservation),
        user_data=UserData(agent=((INSTANCE_ATTRIBUTES, _TEAM % team),)) if team else NO_USER_DATA,
    )
    return pool, Provider(
        tuple(map(_kind, kinds)),
        min(most, reserved or most),
        least_hosts=least,
        is_scaled=is_scaled,
        zones=zones or ("",),
    )


def _daemon(random: Random, index: int, pools: list[Pool]) -> tuple[Workload, Job]:
    cpu, memory = random.choice((0, 512, 1024)), random.choice((128, 1024, 3000))
    gpus, shared = random.choice(((0, 0), (0, 0), (0, 0), (1, 0), (0, 4_000)))
    port = random.choice((0, 0, 8080))
    constraints, job = _constrained(random, pools, 0.2)
    container = _container(gpus=gpus, shared=shared, cpu=cpu, memory=memory, port=port)
    return (
        Workload(
            name=f"daemon{index}",
            task=Task(name=f"daemon-task{index}", containers=(container,), network_mode="bridge"),
            cluster="c",
            daemon=True,
            constraints=constraints,
        ),
        replace(
            job,
            cpu=cpu,
            memory=memory,
            gpus=gpus,
            shared=shared,
            ports=frozenset({port}) if port else frozenset(),
        ),
    )


def _constrained(random: Random, pools: list[Pool], chance: float) -> tuple[tuple[PlacementConstraint, ...], Job]:
    """Constraints on types, custom attributes and zones, and a job with what they exclude."""
    kinds = [(number, place) for number, pool in enumerate(pools) for place in range(len(pool.instance_types))]
    expressions, barred, may_bar, zone = [], set[tuple[int, int]](), set[tuple[int, int]](), ""
    if random.random() < chance:
        named = random.choice([each.name for pool in pools for each in pool.instance_types])
        expressions.append(f"attribute:ecs.instance-type != {named}")
        barred |= {(number, place) for number, place in kinds if pools[number].instance_types[place].name == named}
    if random.random() < chance:
        expressions.append(f"attribute:team == {_TEAMS[0]}")
        given = [each.user_data.get(INSTANCE_ATTRIBUTES) for each in pools]
        barred |= {each for each in kinds if given[each[0]] == _TEAM % _TEAMS[1]}
        may_bar |= {each for each in kinds if given[each[0]] is None}
    if pools[0].subnets and random.random() < 0.6:
        zone = random.choice(_ZONES)
        expressions.append(f"attribute:ecs.availability-zone == {zone}")
    constraints = tuple(PlacementConstraint(type="memberOf", expression=each) for each in expressions)
    return constraints, Job(copies=0, barred=frozenset(barred), may_bar=frozenset(may_bar), zone=zone)


def _container(
    *, gpus: int = 0, all_gpus: bool = False, shared: int = 0, cpu: int, memory: int, port: int = 0
) -> Container:
    requirements: tuple[ResourceRequirement, ...] = ()
    if all_gpus:
        requirements = (ResourceRequirement(value="ALL"),)
    elif shared:
        requirements = (ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=shared)),)
    elif gpus:
        requirements = (ResourceRequirement.gpus(gpus),)
    return Container(
        name="c",
        requirements=requirements,
        cpu=cpu,
        memory_limit_mib=memory,
        host_ports=((port, "tcp"),) if port else (),
    )


def _workload(random: Random, index: int, copies: int, pools: list[Pool]) -> tuple[Workload, Job]:
    kind = random.choice(("gpus", "gpus", "gpus", "gpus", "shared", "shared", "none", "none", "all"))
    gpus = random.choice((1, 1, 2, 3)) if kind == "gpus" else 0
    shared = random.choice((2_000, 4_000, 4_700, 6_000, 9_500)) if kind == "shared" else 0
    cpu, memory = random.choice((0, 1, 1, 2, 3, 5)) * 512, random.choice((1, 1, 2, 3, 4, 7)) * 700
    awsvpc, port = random.random() < 0.3, random.choice((0, 0, 0, 0, 0, 8080))
    distinct = random.random() < 0.15
    items = [] if random.random() < 0.1 else _items(random, len(pools))
    constraints, job = _constrained(random, pools, 0.15)
    if distinct:
        constraints = (*constraints, PlacementConstraint(type="distinctInstance"))
    container = _container(gpus=gpus, all_gpus=kind == "all", shared=shared, cpu=cpu, memory=memory, port=port)
    workload = Workload(
        name=f"w{index}",
        task=Task(name=f"t{index}", containers=(container,), network_mode="awsvpc" if awsvpc else "bridge"),
        cluster="c",
        launch_type=None if items else "EC2",
        strategy=tuple(
            StrategyItem(provider=pools[each].name, pool=pools[each], base=first, weight=weight)
            for each, first, weight in items
        ),
        desired_count=copies,
        constraints=constraints,
    )
    job = replace(
        job,
        copies=copies,
        gpus=gpus,
        all_gpus=kind == "all",
        shared=shared,
        cpu=cpu,
        memory=memory,
        interfaces=int(awsvpc),
        ports=frozenset() if awsvpc or not port else frozenset({port}),
        distinct=distinct,
        strategy=tuple(items),
    )
    return workload, job


def _items(random: Random, pools: int) -> list[tuple[int, int, int]]:
    """A strategy: one provider at most has a base, and one of several at least a weight."""
    chosen = random.sample(range(pools), random.randint(1, pools))
    with_base, base = random.choice(chosen), random.choice((0, 0, 1, 2, 4))
    weights = [random.choice((0, 1, 1, 1, 2, 3)) for _ in chosen]
    weights[0] = weights[0] or 1
    return [(each, base if each == with_base else 0, weight) for each, weight in zip(chosen, weights, strict=True)]

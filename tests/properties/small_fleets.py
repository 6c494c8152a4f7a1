"""Small fleets at random, as the library knows them and as the oracle does: the same numbers, written down twice."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from gpu_constructs.fleet import (
    NO_USER_DATA,
    UNKNOWN,
    Container,
    Fleet,
    NvidiaMps,
    PlacementConstraint,
    Pool,
    ResourceRequirement,
    StrategyItem,
    Task,
    Workload,
)
from gpu_constructs.hardware import InstanceType, instance_type
from tests.properties.oracle import Job, Kind, Provider, World

__all__ = ["small_fleet"]

_MODEL = instance_type("g6.12xlarge")
_SYSTEM_PERCENT = 7.5  # what the library expects a host to keep of its memory
_UNSHARED_PERCENT = 8  # and of a GPU's


def small_fleet(random: Random) -> tuple[Fleet, World]:
    """A fleet of at most three types, four hosts and six copies.

    Args:
        random: Where its numbers are from.
    """
    types = [_type(random, index) for index in range(random.randint(1, 3))]
    pools: list[Pool] = []
    providers: list[Provider] = []
    hosts = 4
    daemon = _daemon(random)
    for index in range(random.choice((1, 1, 2))):
        kinds = random.sample(types, random.randint(1, min(2, len(types))))
        most = random.randint(1, hosts - 1) if not index else random.randint(1, hosts)
        hosts -= most
        pools.append(_pool(f"Pool{index}", kinds, most))
        providers.append(Provider(tuple(map(_kind, kinds)), most, () if daemon is None else (daemon[1],)))
    workloads: list[Workload] = []
    jobs: list[Job] = []
    copies = random.choice((1, 2, 3, 4, 5, 6))
    while copies:
        some = random.randint(1, copies)
        copies -= some
        workload, job = _workload(random, len(jobs), some, pools)
        workloads.append(workload)
        jobs.append(job)
    if daemon is not None:
        workloads.append(daemon[0])
    return Fleet(pools=tuple(pools), workloads=tuple(workloads)), World(tuple(providers), tuple(jobs))


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


def _pool(name: str, kinds: list[InstanceType], most: int) -> Pool:
    return Pool(
        name=name,
        instance_types=tuple(kinds),
        image=UNKNOWN,
        min_instances=0,
        max_instances=most,
        cluster="c",
        user_data=NO_USER_DATA,
    )


def _daemon(random: Random) -> tuple[Workload, Job] | None:
    if random.random() < 0.7:
        return None
    cpu, memory, gpus = random.choice((0, 512, 1024)), random.choice((128, 1024)), random.choice((0, 0, 0, 1))
    task = Task(name="daemon", containers=(_container(gpus=gpus, cpu=cpu, memory=memory),))
    return (
        Workload(name="daemon", task=task, cluster="c", daemon=True),
        Job(copies=0, cpu=cpu, memory=memory, gpus=gpus),
    )


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
    chosen = random.sample(range(len(pools)), random.randint(1, len(pools)))
    base = random.choice((0, 0, 1, 2))
    items = [(each, base if not place else 0, random.choice((1, 1, 2, 3))) for place, each in enumerate(chosen)]
    named = random.choice([each.name for pool in pools for each in pool.instance_types])
    constraints, barred = [], frozenset[tuple[int, int]]()
    if random.random() < 0.15:
        constraints.append(PlacementConstraint(type="memberOf", expression=f"attribute:ecs.instance-type != {named}"))
        barred = frozenset(
            (number, place)
            for number, pool in enumerate(pools)
            for place, each in enumerate(pool.instance_types)
            if each.name == named
        )
    if distinct:
        constraints.append(PlacementConstraint(type="distinctInstance"))
    container = _container(gpus=gpus, all_gpus=kind == "all", shared=shared, cpu=cpu, memory=memory, port=port)
    workload = Workload(
        name=f"w{index}",
        task=Task(name=f"t{index}", containers=(container,), network_mode="awsvpc" if awsvpc else "bridge"),
        cluster="c",
        strategy=tuple(
            StrategyItem(provider=pools[each].name, pool=pools[each], base=first, weight=weight)
            for each, first, weight in items
        ),
        desired_count=copies,
        constraints=tuple(constraints),
    )
    job = Job(
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
        barred=barred,
    )
    return workload, job

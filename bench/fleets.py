"""Fleets at random for the benchmarks of the proof."""

from __future__ import annotations

from random import Random

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN, Container, Fleet, Pool, ResourceRequirement, StrategyItem, Task, Workload

__all__ = ["fleet_of"]

_TYPES = (("g6.xlarge", "g6.2xlarge"), ("g5.12xlarge", "g5.24xlarge"), ("g6.48xlarge",), ("p5.48xlarge",))


def fleet_of(workloads: int, pools: int, *, seed: int, providers: int = 3) -> Fleet:
    """A fleet whose workloads each run on some of its pools, which have room for nearly all of them.

    Args:
        workloads: How many services, each with a task of its own.
        pools: How many capacity providers.
        seed: Of the random numbers.
        providers: Providers of one strategy at most.
    """
    random = Random(seed)  # noqa: S311 - no secrets
    hosts = [
        Pool(
            name=f"Pool{index}",
            instance_types=tuple(map(instance_type, _TYPES[index % len(_TYPES)])),
            image=UNKNOWN,
            min_instances=0,
            max_instances=250,
            cluster="gpu",
        )
        for index in range(pools)
    ]
    return Fleet(
        pools=tuple(hosts), workloads=tuple(_workload(index, hosts, random, providers) for index in range(workloads))
    )


def _workload(index: int, hosts: list[Pool], random: Random, providers: int) -> Workload:
    first = random.choice(hosts)
    alike = [each for each in hosts if each.shape == first.shape]
    chosen = random.sample(alike, min(len(alike), random.randint(1, providers)))
    gpus = random.randint(1, first.instance_types[0].gpus)
    container = Container(
        name="main",
        requirements=(ResourceRequirement.gpus(gpus),),
        cpu=random.randint(1, 4) * 512 * gpus,
        memory_reservation_mib=random.randint(1, 6) * 1024 * gpus,
    )
    return Workload(
        name=f"Workload{index}",
        task=Task(name=f"Task{index}", containers=(container,)),
        cluster="gpu",
        strategy=tuple(StrategyItem(provider=each.name, pool=each, weight=random.randint(1, 5)) for each in chosen),
        desired_count=random.randint(1, 20),
    )

"""Every fix with a value does what it says: with it the finding is gone, and nothing else is broken.

Broken fleets at random; the changes that findings carry are made, and the fleet is checked again from the beginning.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    GroupSettings,
    HostImage,
    NvidiaMps,
    Pool,
    ResourceRequirement,
    StrategyItem,
    Task,
    Workload,
)
from gpu_constructs.hardware import IMAGES, Architecture, instance_type
from gpu_constructs.rules import Severity, check
from gpu_constructs.rules.change import changed
from tests.properties.small_fleets import small_fleet

_TYPES = (
    "g4dn.xlarge",
    "g5.xlarge",
    "g5.12xlarge",
    "g5g.xlarge",
    "g6.xlarge",
    "g6f.large",
    "p3.8xlarge",
    "p5.48xlarge",
)
_OTHER_TYPES = ("c7i.large", "c7g.large", "inf2.xlarge", "t3.medium", "g4ad.xlarge")


def broken_fleet(random: Random) -> Fleet:
    """Two pools and two services with much that is wrong with them."""
    pools = tuple(_pool(random, f"Pool{number}") for number in range(random.choice((1, 1, 2))))
    tasks = tuple(_task(random, f"task{number}") for number in range(random.choice((1, 2))))
    workloads = tuple(
        Workload(
            name=f"service{number}",
            task=task,
            cluster=random.choice(("c", "c", "d")),
            strategy=tuple(
                StrategyItem(provider=each.name, pool=each, weight=1)
                for each in random.sample(pools, random.randint(1, len(pools)))
            ),
            desired_count=random.choice((1, 2, 5, 9)),
            min_healthy_percent=0,
        )
        for number, task in enumerate(tasks)
        if random.random() < 0.8
    )
    return Fleet(pools=pools, tasks=tasks, workloads=workloads, is_whole=random.random() < 0.8)


def _pool(random: Random, name: str) -> Pool:
    types = random.sample(_TYPES + _OTHER_TYPES * (random.random() < 0.3), random.choice((1, 1, 1, 2)))
    is_old = random.random() < 0.2
    return Pool(
        name=name,
        instance_types=tuple(map(instance_type, types)),
        image=UNKNOWN if random.random() < 0.2 else HostImage(image=random.choice(IMAGES)),
        min_instances=random.choice((0, 0, 0, 0, 6)),
        max_instances=random.choice((1, 2, 4)),
        cluster=random.choice(("c", "c", "d", None)),
        launch_configuration=is_old,
        group=GroupSettings(desired_instances=random.choice((None, None, None, 0, 5))),
    )


def _task(random: Random, name: str) -> Task:
    gpus = random.choice((0, 1, 1, 2, 4, 8, 8))
    requirements = (ResourceRequirement.gpus(gpus),) if gpus else ()
    if gpus == 1 and random.random() < 0.4:
        requirements = (ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=random.choice((4_000, 16_000, 30_000)))),)
    container = Container(
        name="main",
        requirements=requirements,
        cpu=random.choice((0, 1024, 8192, 65536)),
        memory_limit_mib=random.choice((1024, 8192, 16384, 65536)),
        devices=("/dev/neuron0",) if not gpus and random.random() < 0.3 else (),
    )
    architecture = random.choice((None, None, None, Architecture.ARM64, Architecture.X86_64))
    return Task(name=name, containers=(container,), architecture=architecture)


def _wrong(fleet: Fleet) -> Counter[tuple[str, str]]:
    return Counter((each.rule, each.subject) for each in check(fleet, fixes=False) if each.severity is Severity.ERROR)


def _found(fleet: Fleet, rule: str, subject: str) -> int:
    return sum((each.rule, each.subject) == (rule, subject) for each in check(fleet, fixes=False))


@pytest.fixture(scope="module")
def fixed() -> Counter[str]:
    """How many fixes of each rule were made, each of which did what it says."""
    made: Counter[str] = Counter()
    for seed in range(150):
        random = Random(seed)  # noqa: S311 - no secret
        for fleet in (broken_fleet(random), replace(small_fleet(random)[0], is_whole=True)):
            before = _wrong(fleet)
            for each in check(fleet):
                for way in each.ways:
                    assert way.text in each.fix
                    if not way.things:
                        continue
                    after = changed(fleet, way.things)
                    assert _found(after, each.rule, each.subject) < _found(fleet, each.rule, each.subject), each
                    assert not _wrong(after) - before, (each, way.text, _wrong(after) - before)
                    made[each.rule] += 1
    return made


@pytest.mark.parametrize(
    "rule",
    [
        "GPU003",
        "GPU006",
        "GPU009",
        "GPU052",
        "GPU060",
        "GPU061",
        "GPU067",
        "GPU068",
        "GPU073",
        "GPU111",
        "GPU117",
        *("GPU054", "GPU062", "GPU080", "GPU129"),
    ],
)
def test_every_fix_that_is_told_works(rule: str, fixed: Counter[str]) -> None:
    assert fixed[rule]

"""How long `check` takes for templates that are large in one way: ``python -m bench.large``.

Each is checked in a process of its own, from its start to its end. The budgets are for one core of a machine of 2026
that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

from bench.cli import cluster_of, resources_of
from gpu_constructs.__main__ import main

__all__ = ["patterns", "scaled", "services"]

_TYPES = ("g5.xlarge", "g6.xlarge", "g6.2xlarge", "g6.4xlarge")
_SMALL = 1_000
_SMALL_SECONDS = 0.002
_ANYTHING = {"Type": "AWS::SNS::Topic"}
_HOSTS = ("Template", "Hosts", "Provider")


def patterns(tasks: int, *, constraints: int, each: int) -> dict[str, object]:
    """A template of tasks whose placement constraints hold patterns, hardly two of them alike.

    Args:
        tasks: How many.
        constraints: Of each task.
        each: Patterns of one constraint.
    """
    random = Random(7)  # noqa: S311 - no secrets
    resources: dict[str, Any] = _cluster([resources_of(0, "g6.xlarge")])
    for number in range(tasks):
        own = resources_of(number, "g6.xlarge")
        own[f"Task{number}"]["Properties"]["PlacementConstraints"] = [
            {
                "Type": "memberOf",
                "Expression": " or ".join(f"attribute:ecs.instance-type =~ {_pattern(random)}" for _ in range(each)),
            }
            for _ in range(constraints)
        ]
        resources |= _service(own, number, [0])
    return {"Resources": resources}


def services(count: int, *, pools: int, providers: int) -> dict[str, object]:
    """A template of services that hardly ever ask for the same.

    Args:
        count: How many.
        pools: Capacity providers.
        providers: Of each service's strategy; 0 for the launch type EC2, with which it may go to every pool.
    """
    random = Random(7)  # noqa: S311 - no secrets
    resources: dict[str, Any] = _cluster([resources_of(number, random.choice(_TYPES)) for number in range(pools)])
    for number in range(count):
        own = resources_of(number, "")
        container = own[f"Task{number}"]["Properties"]["ContainerDefinitions"][0]
        container |= {"Cpu": random.randint(64, 3000), "Memory": random.randint(256, 12_000)}
        if random.random() < 0.5:  # noqa: PLR2004 - every other one has no GPU
            del container["ResourceRequirements"]
        resources |= _service(own, number, random.sample(range(pools), providers))
    return {"Resources": resources}


def scaled(count: int) -> dict[str, object]:
    """A template of services of one provider, with service auto scaling, no two of which fit on one host.

    Args:
        count: How many.
    """
    random = Random(7)  # noqa: S311 - no secrets
    resources: dict[str, Any] = _cluster([resources_of(0, "g6.xlarge")])
    resources["Hosts0"]["Properties"]["MaxSize"] = str(2 * count)
    for number in range(count):
        own = resources_of(number, "")
        container = own[f"Task{number}"]["Properties"]["ContainerDefinitions"][0]
        container |= {"Cpu": random.randint(1, 64), "Memory": 7800 + number % 4000}
        del container["ResourceRequirements"]
        resources |= _service(own, number, [0])
        resources[f"Target{number}"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "MinCapacity": 1,
                "MaxCapacity": random.randint(2, 20),
                "ResourceId": {"Fn::Sub": f"service/${{Cluster}}/${{Service{number}.Name}}"},
                "ScalableDimension": "ecs:service:DesiredCount",
                "ServiceNamespace": "ecs",
            },
        }
    return {"Resources": resources}


def _pattern(random: Random) -> str:
    first, second, third = random.choices(range(10), k=3)
    return f"[{random.choice('abcdef')}-{random.choice('uvwxyz')}]*{first}.{second}.*{third}{random.randint(0, 9)}"


def _cluster(capacities: list[dict[str, Any]]) -> dict[str, Any]:
    hosts = {name: body for each in capacities for name, body in each.items() if name.startswith(_HOSTS)}
    return {**cluster_of(len(capacities)), **hosts}


def _service(own: Mapping[str, Any], number: int, providers: list[int]) -> dict[str, Any]:
    service = own[f"Service{number}"]
    service["Properties"]["CapacityProviderStrategy"] = [
        {"CapacityProvider": {"Ref": f"Provider{each}"}, "Weight": 1} for each in providers
    ]
    if not providers:
        del service["Properties"]["CapacityProviderStrategy"]
    return {f"Task{number}": own[f"Task{number}"], f"Service{number}": service}


def _measured(folder: Path) -> None:
    rows = (
        ("90 tasks with 22,500 patterns", patterns(90, constraints=10, each=25), 10),
        ("2,000 tasks with 60,000 patterns", patterns(2000, constraints=1, each=30), 10),
        ("9,900 services on 1 provider", services(9900, pools=1, providers=1), 5),
        ("2,000 services on 3 of 100 providers", services(2000, pools=100, providers=3), 5),
        ("5,000 services on 20 of 200 providers", services(5000, pools=200, providers=20), 10),
        ("600 services on all of 600 pools", services(600, pools=600, providers=0), 60),
        ("10,000 scaled services on 1 provider", scaled(10_000), 60),
        ("10,000 services on a provider of their own", {"Resources": _alone(10_000)}, 10),
    )
    sys.stdout.write("| check of | MB | seconds | processor, s | budget, s | MiB |\n|---|---|---|---|---|---|\n")
    for name, template, budget in rows:
        path = folder / "template.json"
        path.write_text(json.dumps(template), encoding="utf-8")
        _row(name, [path], budget)
    few = [folder / f"{number}.json" for number in range(_SMALL)]
    for number, path in enumerate(few):
        path.write_text(json.dumps({"Resources": _alone(1) | {f"Number{number}": _ANYTHING}}), encoding="utf-8")
    _row(f"{_SMALL:,} templates of one service", few, _SMALL * _SMALL_SECONDS)


def _alone(count: int) -> dict[str, Any]:
    each = (resources_of(number, "g6.xlarge") for number in range(count))
    every = {name: body for own in each for name, body in own.items()}
    return {**cluster_of(count), **every}


def _row(name: str, paths: Sequence[Path], budget: float) -> None:
    """Checks files in a process of its own, which tells its time and the most memory that it had."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "bench.large", "--check", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    taken = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    processor, memory = done.stdout.splitlines()[-1].split()
    over = " (over)" if float(processor) > budget else ""
    size = sum(path.stat().st_size for path in paths) / 1e6
    sys.stdout.write(f"| {name} | {size:.1f} | {taken:.1f} | {processor}{over} | {budget:g} | {memory} |\n")
    sys.stdout.flush()


def _check(paths: Sequence[str]) -> None:
    """What the command line does, and what it took."""
    with suppress(SystemExit), redirect_stdout(StringIO()):
        sys.argv = ["gpu-constructs", "check", *paths]
        main()
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stdout.write(f"{used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss / 1024:.0f}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.check:
        _check(arguments.check)
        sys.exit()
    with tempfile.TemporaryDirectory() as name:
        _measured(Path(name))

"""How long `check` takes for templates that are large in one way: ``python -m bench.large``.

Each is checked in a process of its own, from its start to its end. The budgets are for one core of a machine of 2026
that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from bench.cli import resources_of

__all__ = ["patterns", "services"]

_TYPES = ("g5.xlarge", "g6.xlarge", "g6.2xlarge", "g6.4xlarge")
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
        providers: Of each service's strategy.
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


def _pattern(random: Random) -> str:
    first, second, third = random.choices(range(10), k=3)
    return f"[{random.choice('abcdef')}-{random.choice('uvwxyz')}]*{first}.{second}.*{third}{random.randint(0, 9)}"


def _cluster(capacities: list[dict[str, Any]]) -> dict[str, Any]:
    hosts = {name: body for each in capacities for name, body in each.items() if name.startswith(_HOSTS)}
    return {"Cluster": {"Type": "AWS::ECS::Cluster"}, **hosts}


def _service(own: Mapping[str, Any], number: int, providers: list[int]) -> dict[str, Any]:
    service = own[f"Service{number}"]
    service["Properties"]["CapacityProviderStrategy"] = [
        {"CapacityProvider": {"Ref": f"Provider{each}"}, "Weight": 1} for each in providers
    ]
    return {f"Task{number}": own[f"Task{number}"], f"Service{number}": service}


def _measured(folder: Path) -> None:
    rows = (
        ("90 tasks with 22,500 patterns", patterns(90, constraints=10, each=25), 10),
        ("2,000 tasks with 60,000 patterns", patterns(2000, constraints=1, each=30), 10),
        ("9,900 services on 1 provider", services(9900, pools=1, providers=1), 5),
        ("2,000 services on 3 of 100 providers", services(2000, pools=100, providers=3), 5),
        ("5,000 services on 20 of 200 providers", services(5000, pools=200, providers=20), 10),
    )
    sys.stdout.write("| check of | MB | seconds | budget, s |\n|---|---|---|---|\n")
    for name, template, budget in rows:
        path = folder / "template.json"
        path.write_text(json.dumps(template), encoding="utf-8")
        start = time.perf_counter()
        command = [sys.executable, "-m", "gpu_constructs", "check", str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        taken = time.perf_counter() - start
        if done.returncode not in {0, 1}:
            raise SystemExit(done.stderr.decode(errors="replace"))
        over = " (over)" if taken > budget else ""
        sys.stdout.write(f"| {name} | {path.stat().st_size / 1e6:.1f} | {taken:.1f}{over} | {budget} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        _measured(Path(name))

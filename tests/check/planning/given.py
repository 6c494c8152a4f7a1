"""Pools, services and fleets in short words."""

from __future__ import annotations

from typing import Any

from gpu_constructs.check.planning.fleet_plan import FleetPlan, PoolPlan, plan
from gpu_constructs.check.planning.host_price import Usd
from gpu_constructs.facts import default_image, instance_type
from gpu_constructs.fleet import (
    Bought,
    Container,
    Fleet,
    HostImage,
    Pool,
    PurchaseOption,
    ResourceRequirement,
    Starter,
    StrategyItem,
    Task,
    Workload,
)


def pool(*types: str, name: str = "L4", purchase: PurchaseOption = PurchaseOption.ON_DEMAND, **changes: Any) -> Pool:
    """A pool with managed scaling from nothing to ten hosts, in us-east-1."""
    found = tuple(map(instance_type, types or ("g6.12xlarge",)))  # 4 GPUs, 48 vCPU, 192 GiB
    values = {"min_instances": 0, "max_instances": 10, "region": "us-east-1", "cluster": "gpu", **changes}
    image = HostImage(image=default_image(found[0]))
    return Pool(**{"name": name, "instance_types": found, "image": image, "bought": Bought(option=purchase), **values})


def service(
    on: Pool, *, gpus: int = 1, copies: Any = 1, vcpus: float = 1, name: str = "chat", **changes: Any
) -> Workload:
    """A service whose copies ask for GPUs, vCPUs and 4 GiB."""
    asked = (ResourceRequirement.gpus(gpus),) if gpus else ()
    main = Container(name="main", requirements=asked, cpu=int(vcpus * 1024), memory_limit_mib=4096)
    values = {"desired_count": copies, "strategy": (StrategyItem(provider=on.name, pool=on, weight=1),), **changes}
    return Workload(name=name, task=Task(name=name, containers=(main,), network_mode="bridge"), cluster="gpu", **values)


def job(on: Pool, **changes: Any) -> Workload:
    """What a state machine starts."""
    return service(on, **{"name": "tune", "starter": Starter.STATE_MACHINE, **changes})


def fleet(*workloads: Workload, pools: tuple[Pool, ...] = ()) -> Fleet:
    """The workloads with the pools that they name."""
    named = {item.pool.name: item.pool for each in workloads for item in each.strategy if item.pool is not None}
    return Fleet(pools=(*named.values(), *pools), workloads=workloads, is_whole=True)


def usd(amount: Usd | None) -> tuple[float | None, float] | None:
    """An amount, to the millionth of a dollar."""
    if amount is None:
        return None
    return None if amount.least is None else round(amount.least, 6), round(amount.most, 6)


def planned(*workloads: Workload, pools: tuple[Pool, ...] = ()) -> FleetPlan:
    """The plan of a fleet."""
    return plan(fleet(*workloads, pools=pools))


def the_pool(*workloads: Workload, pools: tuple[Pool, ...] = ()) -> PoolPlan:
    """The plan of the only pool of a fleet."""
    (found,) = planned(*workloads, pools=pools).pools
    return found

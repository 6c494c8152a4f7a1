"""Hosts of no file: how many of which types somebody says are in the clusters whose hosts no file defines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts import InstanceType, default_image, instance_type
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.budget import DESCRIBED
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import UNKNOWN, Fleet, HostImage, Pool, PoolKind, Task, Unknown, Workload
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, pools_of

_CLUSTER = "of the described hosts"
"""Stands for every cluster that only the deploy names."""


def with_hosts(fleet: Fleet, described: Mapping[str, int]) -> Fleet:
    """A fleet with more hosts in each cluster whose hosts are in no file that was read.

    They run a task as launch type EC2 does: the files do not say which capacity provider is which. With them, the hosts
    of these clusters are all described.

    Raises:
        UnknownNameError: No instance type is called so.
        InvalidValueError: There is less than one host, or there are more types and clusters than can be judged.
    """
    types = {instance_type(name): _number(name, number) for name, number in described.items()}
    if not types:
        return fleet
    workloads = tuple([_moved(each) if _is_elsewhere(fleet, each) else each for each in fleet.workloads])
    clusters = grouped(
        (each.cluster, each) for each, old in zip(workloads, fleet.workloads, strict=True) if each is not old
    )
    if len(types) * len(clusters) > DESCRIBED:
        raise InvalidValueError(
            f"{len(types)} types of hosts are described for each of {len(clusters)} clusters",
            argument="hosts",
            allowed=f"up to {DESCRIBED} hosts, each type counted once for each cluster",
            fix="describe the types that the clusters have, or check fewer files at once",
        )
    several = len(clusters) > 1
    places = {name: _region(of) for name, of in clusters.items()} or {None: _region(fleet.tasks)}
    pools = [
        replace(_pool(kind, number, f" in {cluster or 'default'}" if several else ""), cluster=cluster, region=region)
        for cluster, region in places.items()
        for kind, number in types.items()
    ]
    strays = [each for each in fleet.strays if isinstance(each.cluster, Unknown)]
    still = {each.pool.name for workload in workloads for each in workload.strategy if each.pool is not None}
    kept = [each for each in fleet.pools if not each.is_of_unknown_group or each.name in still]
    return replace(fleet, pools=(*kept, *pools), workloads=workloads, strays=tuple(strays))


def _region(on_them: Iterable[Workload | Task]) -> str | None:
    """The region of hosts, by what runs on them; None where that is not known, or where there are several."""
    regions = {None if each.origin is None else each.origin.place.region for each in on_them}
    return regions.pop() if len(regions) == 1 else None


def _number(name: str, number: int) -> int:
    if number < 1:
        raise InvalidValueError(f"{number} hosts of {shown(name)}", argument="hosts", value=number, allowed="1 or more")
    return number


def _is_elsewhere(fleet: Fleet, workload: Workload) -> bool:
    """Whether no file says on which hosts a workload runs."""
    if workload.strategy:
        return all(
            each.pool.is_of_unknown_group if each.pool else each.provider not in FARGATE_PROVIDERS
            for each in workload.strategy
        )
    return workload.launch_type in EC2_LAUNCH_TYPES and not pools_of(fleet, workload)


def _moved(workload: Workload) -> Workload:
    cluster = _CLUSTER if isinstance(workload.cluster, Unknown) else workload.cluster
    return replace(workload, strategy=(), launch_type="EC2", cluster=cluster)


def _usual_image(each: InstanceType) -> HostImage | Unknown:
    """What is taken for the machine image of hosts that run: the one that the library would choose, of any release."""
    try:
        return HostImage.own(replace(default_image(each), agent_version=None))
    except IncompatibleError:
        return UNKNOWN


def _pool(each: InstanceType, number: int, where: str) -> Pool:
    return Pool(
        name=f"{number} described {'host' if number == 1 else 'hosts'} {each.name}{where}",
        instance_types=(each,),
        image=_usual_image(each),
        min_instances=number,
        max_instances=number,
        kind=PoolKind.AUTO_SCALING_GROUP,
        managed_scaling=False,
        has_provider=False,
    )

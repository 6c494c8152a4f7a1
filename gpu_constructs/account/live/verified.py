"""Whether a cluster came up as it was planned: its hosts with their GPUs, its providers and its services."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping

from gpu_constructs.account.answers import Answers, Thing, in_region, number, text, thing, things
from gpu_constructs.account.live.as_template import capacity_template, group_of
from gpu_constructs.account.live.groups import failed_launches, resumed
from gpu_constructs.account.live.hosts import RegisteredHost, registered_hosts, state_of
from gpu_constructs.account.live.subjects import cluster_of, progress_of, services_of
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Pool
from gpu_constructs.placement.pool_profile import ASSUMED_RESERVE_MIB, least_memory_mib, most_memory_mib

_NOT_IN_CATALOGUE = "its type is not in the catalogue", "a newer gpu-constructs, whose catalogue may have it"
_NO_TYPE = "its attributes do not say which type it is", ""


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that was looked at.

    Attributes:
        about: The host, the provider or the service.
        passed: Whether it is as it should be; None where it could not be looked at.
        fix: What to do; empty where nothing is to be done.
    """

    name: str
    about: str
    passed: bool | None
    text: str
    fix: str = ""


def verify(answers: Answers, *, region: str | None = None) -> tuple[Look, ...]:
    """Checks a cluster; what could not be looked at is said."""
    pools = {each.name: each for each in check_files([capacity_template(answers)], region=region, rules=()).fleet.pools}
    seen = _Seen(answers=answers, pools=pools, hosts=registered_hosts(answers), region=region)
    return tuple(
        Look(name=name, about=about, passed=passed, text=text, fix=fix)
        for name, look in _LOOKS.items()
        for about, passed, text, fix in look(seen)
    )


_Looked = tuple[str, "bool | None", str, str]
"""Of a `Look` all but its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    answers: Answers
    pools: dict[str, Pool]
    hosts: tuple[RegisteredHost, ...]
    region: str | None

    def reserved_mib(self, host: RegisteredHost) -> int | None:
        """Memory that the agent of a host keeps back, as its user data says; None where that is not known."""
        pool = self.pools.get(host.provider)
        if pool is None or not self.answers.were_asked("LaunchTemplateVersions"):
            return None
        return pool.reserved_memory_mib if isinstance(pool.reserved_memory_mib, int) else None


def _joined(seen: _Seen) -> Iterator[_Looked]:
    known = {each.instance_id: each for each in seen.hosts}
    is_asked = seen.answers.were_asked("containerInstances")
    of_groups: set[str] = set()
    for provider in seen.answers.of("capacityProviders"):
        group = group_of(seen.answers, provider)
        if group is None:
            continue
        up = [each for each in things(group, "Instances") if text(each, "LifecycleState") == "InService"]
        names = [text(each, "InstanceId") for each in up]
        of_groups.update(names)
        wanted = number(group, "DesiredCapacity")
        if not is_asked or wanted is None:
            what = "the size of its group was" if is_asked else "the hosts of the cluster were"
            yield text(provider, "name"), None, f"{what} not described", ""
            continue
        missing = [each for each in names if each not in known]
        out = {each: found for each in names if each in known and (found := state_of(known[each])) is not None}
        problems = [
            *([f"{brief(', '.join(missing), MESSAGE)} did not"] if missing else []),
            *(f"{each} {found.text}" for each, found in out.items()),
        ]
        said = "; ".join([f"{len(up) - len(missing)} of {wanted} hosts joined the cluster", *problems])
        fix = "; ".join(dict.fromkeys(each.fix for each in out.values()))
        fix = "gpu-constructs why, of a service that waits for them, says what keeps them out" if missing else fix
        yield text(provider, "name"), not problems and len(up) >= wanted, said, fix
    for host in seen.hosts:
        found = state_of(host)
        if found is not None and host.instance_id not in of_groups:
            yield str(host), False, f"it {found.text}", found.fix


def _gpus(seen: _Seen) -> Iterator[_Looked]:
    for host in seen.hosts:
        kind, registered = host.instance_type, len(host.registered.gpus)
        if kind is None:
            why, fix = _NOT_IN_CATALOGUE if host.type_name else _NO_TYPE
            yield str(host), None, f"registered {registered}; {why}", fix
        elif kind.gpus:
            passed = registered == kind.gpus
            fix = "" if passed else "nvidia-smi on the host shows whether the driver sees them; replace the host"
            yield str(host), passed, f"registered {registered} of {kind.gpus}", fix


def _memory(seen: _Seen) -> Iterator[_Looked]:
    for host in seen.hosts:
        if host.instance_type is None:
            continue
        reserved = seen.reserved_mib(host)
        least = least_memory_mib(host.instance_type, ASSUMED_RESERVE_MIB if reserved is None else reserved)
        most = most_memory_mib(host.instance_type, reserved or 0)
        has = host.registered.memory_mib
        fix = ""
        if has < least:
            fix = f"tasks that were planned for {least} MiB may not fit: ask for {least - has} MiB less"
        elif has > most:
            fix = "the host keeps back less than its user data says: look at ECS_RESERVED_MEMORY"
        yield str(host), not fix, f"registered {has} MiB; {least} to {most} MiB are expected", fix


def _providers(seen: _Seen) -> Iterator[_Looked]:
    for provider in seen.answers.of("capacityProviders"):
        own, group = thing(provider, "autoScalingGroupProvider"), group_of(seen.answers, provider)
        name = text(provider, "name")
        if not own:
            yield _managed(provider)
            continue
        pool = seen.pools.get(name)
        # Of a group that has its hosts, a launch that failed before says nothing: fewer are wanted now.
        lacks = group is not None and len(things(group, "Instances")) < (number(group, "DesiredCapacity") or 0)
        types = pool.instance_types if pool is not None else ()
        failed = failed_launches(seen.answers, group, types) if group is not None and lacks else ()
        suspended = [text(each, "ProcessName") for each in things(group or {}, "SuspendedProcesses")]
        problems = [
            *([f"is {text(provider, 'status')}"] if text(provider, "status") != "ACTIVE" else []),
            *([f"has {text(provider, 'updateStatus')}"] if text(provider, "updateStatus").endswith("FAILED") else []),
            *(["has managed scaling off"] if text(thing(own, "managedScaling"), "status") != "ENABLED" else []),
            *([f"has {', '.join(suspended)} suspended"] if suspended else []),
            *(f"({each.layer.value}) {each.text}" for each in failed),
        ]
        fixes = [*([resumed(group, suspended)] if suspended and group else []), *(each.fix for each in failed)]
        bounds = "" if group is None else f"{number(group, 'MinSize')} to {number(group, 'MaxSize')} hosts"
        said = brief("; ".join(problems), MESSAGE) or bounds or "its group was not described"
        fix = "; ".join(dict.fromkeys(in_region(each, seen.region) for each in fixes))
        yield name, None if group is None else not problems, said, fix


def _managed(provider: Thing) -> _Looked:
    """A provider of ECS Managed Instances, whose hosts ECS starts itself."""
    status, update = text(provider, "status"), text(provider, "updateStatus")
    passed = status == "ACTIVE" and not update.endswith("FAILED")
    reason = text(provider, "updateStatusReason")
    said = f"; its last update: {update}{reason and f', {brief(reason)}'}" if update else ""
    fix = "" if passed else "what AWS says of the update; then update the capacity provider again"
    now = f"it is {status or 'of no status'}, and ECS starts its hosts{'' if passed else said}"
    return text(provider, "name"), passed, now, fix


def _services(seen: _Seen) -> Iterator[_Looked]:
    for service in services_of(seen.answers):
        progress = progress_of(service)
        said = f"it {progress}" + (f": {brief(progress.failed)}" if progress.failed else "")
        fix = "" if progress.is_there is not False else _why(seen, service)
        yield text(service, "serviceName"), progress.is_there, said, fix


def _why(seen: _Seen, service: Thing) -> str:
    cluster, region = cluster_of(seen.answers, service), seen.region or ""
    options = [*(["--cluster", cluster] if cluster else []), *(["--region", region] if region else [])]
    return shlex.join(["gpu-constructs", "why", text(service, "serviceName"), *options])


_LOOKS: Mapping[str, Callable[[_Seen], Iterator[_Looked]]] = {
    "hosts joined": _joined,
    "GPUs registered": _gpus,
    "memory registered": _memory,
    "provider scales": _providers,
    "service runs": _services,
}

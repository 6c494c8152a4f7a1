"""Why a service or a task of a running cluster waits: the layer that holds it up, what is there, and what to do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpu_constructs.account.answers import Answers, Thing, aws, in_region, short_name, text, things
from gpu_constructs.account.live.as_template import as_template, group_of
from gpu_constructs.account.live.groups import of_group
from gpu_constructs.account.live.hosts import Cause, Layer, RegisteredHost, copies_on, refusal, registered_hosts, some
from gpu_constructs.account.live.subjects import Progress, Subject, cluster_of, progress_of, rolled_out, why_stopped
from gpu_constructs.check.pool_answers import PoolAnswer, pools_of_task
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import IncompatibleError, InvalidValueError, brief, counted, shown
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.cuda import first_branch
from gpu_constructs.facts.images import default_image, drivers_of
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import PlacementConstraint, Pool, Task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import routes_of
from gpu_constructs.rules.finding import and_list

_AS_WANTED = "Scaling activity initiated by"
"""Of a task that its service no longer wanted (https://repost.aws/knowledge-center/ecs-task-stopped)."""


_NEEDS_CUDA = re.compile(r"unsatisfied condition: cuda>=([0-9]{1,3})\.([0-9]{1,2})")
"""Of the NVIDIA container runtime, which holds NVIDIA_REQUIRE_CUDA of an image against the driver of the host
(https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html)."""
_ORDER = {layer: place for place, layer in enumerate(Layer)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is to be placed.

    Attributes:
        needed: Attributes that ECS wants of its host.
        copies: How many of it are missing.
    """

    task: Task
    constraints: tuple[PlacementConstraint, ...]
    needed: tuple[str, ...]
    copies: int

    @property
    def are_missing(self) -> str:
        """The copies in words."""
        return counted(self.copies, "more task")

    def hosts_for_them(self, like: Sequence[RegisteredHost]) -> int | None:
        """How many more hosts the copies take, if they are as the smallest there; None where that is not known."""
        on_one = min(filter(None, (copies_on(self.task, each) for each in like)), default=None)
        return None if on_one is None else -(-self.copies // on_one)

    def refusals(self, hosts: Sequence[RegisteredHost]) -> dict[str, Cause | None]:
        """Why each host takes no copy, by the name of the host."""
        return {str(each): refusal(self.task, each, constraints=self.constraints, needed=self.needed) for each in hosts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why something waits.

    Attributes:
        cluster: The name of its cluster; empty where that is not said.
        progress: How far a service is, in numbers; None of a task.
        state: The same in words.
        waits: Whether it waits, or has stopped.
        causes: What holds it up, the first to mend first.
        events: What ECS itself said last, the newest first.
        not_looked_at: What starts hosts and is not described, in words.
    """

    subject: Subject
    cluster: str
    progress: Progress | None
    state: str
    waits: bool
    causes: tuple[Cause, ...]
    events: tuple[str, ...]
    not_looked_at: tuple[str, ...]


def why(answers: Answers, subject: Subject, *, region: str | None = None) -> Diagnosis:
    """Why something waits.

    Raises:
        InvalidValueError: The answers do not say how many tasks a service has, or what they ask for.
    """
    progress = progress_of(subject.described) if subject.kind == "service" else None
    if progress is None:
        status = text(subject.described, "lastStatus") or "of no status"
        state, waits = f"is {status}", status != "RUNNING"
    elif progress.is_there is None:
        raise InvalidValueError(f"AWS does not say how many tasks service {shown(subject.name)} wants and runs")
    else:
        state, waits = str(progress), not progress.is_there
    causes = _causes(answers, subject, region) if waits else ()
    return Diagnosis(
        subject=subject,
        cluster=cluster_of(answers, subject.described),
        progress=progress,
        state=state,
        waits=waits,
        causes=tuple(
            replace(each, fix=in_region(each.fix, region))
            for each in sorted(causes, key=lambda each: _ORDER[each.layer])
        ),
        events=tuple(text(each, "message") for each in things(subject.described, "events")[:3]),
        not_looked_at=tuple(_without_group(answers, subject)),
    )


def _without_group(answers: Answers, subject: Subject) -> Iterator[str]:
    """Providers of its strategy of which no Auto Scaling group is described, as those of ECS Managed Instances."""
    described = {text(each, "name"): each for each in answers.of("capacityProviders")}
    for item in things(rolled_out(subject.described), "capacityProviderStrategy"):
        name = text(item, "capacityProvider")
        is_asked = answers.were_asked("capacityProviders") and answers.were_asked("AutoScalingGroups")
        if name in FARGATE_PROVIDERS or (is_asked and group_of(answers, described.get(name, {})) is None):
            yield f"how {brief(name)} starts hosts"


def _causes(answers: Answers, subject: Subject, region: str | None) -> tuple[Cause, ...]:
    own = tuple(_of_its_tasks(answers, subject))
    if subject.kind == "task" and own:
        return own
    sent = rolled_out(subject.described)
    fleet = check_files([as_template(answers, definition=subject.definition, sent=sent)], region=region, rules=()).fleet
    workload = fleet.workloads[0]
    task = workload.task or fleet.tasks[0]
    if unknown := demand_of(task, workload.constraints).unknown:
        called = f"{subject.kind} {shown(subject.name)}"
        raise InvalidValueError(f"what {called} asks for cannot be read: {', '.join(unknown)}")
    hosts = registered_hosts(answers)
    needed = tuple(text(each, "name") for each in things(subject.definition, "requiresAttributes"))
    places = [each for each in pools_of_task(fleet, task, routes_of(fleet, task)) if each.counts]
    copies = 1 if subject.kind == "task" else max(1, progress_of(subject.described).missing)
    asked = _Asked(task=task, constraints=workload.constraints, needed=needed, copies=copies)
    providers = {text(each, "name"): each for each in answers.of("capacityProviders")}
    found: list[Cause] = []
    if workload.strategy:
        for place in places:
            provider = providers.get(place.destination.pool.name, {})
            found += _of_provider(answers, provider, place, asked, hosts)
        known = {each.destination.pool.name for each in places}
        strategy = (text(each, "capacityProvider") for each in things(sent, "capacityProviderStrategy"))
        unseen = {*filter(None, (*strategy, text(sent, "capacityProviderName")))} - {*known, *providers}
        for name in sorted(unseen - FARGATE_PROVIDERS):
            found += _of_hosts(name, asked.refusals([each for each in hosts if each.provider == name]))
            found += _not_of_cluster(answers, name)
    else:
        found += _of_cluster(answers, places, asked, hosts)
    return (*own, *found)


def _of_provider(
    answers: Answers, provider: Thing, place: PoolAnswer, asked: _Asked, hosts: Sequence[RegisteredHost]
) -> Iterator[Cause]:
    pool = place.destination.pool
    if place.destination.answer is False:
        yield _never(place)
        return
    here = [each for each in hosts if each.provider == pool.name and not _is_left_over(each, pool, asked)]
    refusals = asked.refusals(here)
    yield from _of_hosts(pool.name, refusals)
    if None not in refusals.values():
        has_busy = not refusals or any(each is not None and each.layer is Layer.BUSY for each in refusals.values())
        missing, more = asked.are_missing if has_busy else "", asked.hosts_for_them(here)
        yield from of_group(answers, provider, pool, hosts, missing=missing, more=more)


def _is_left_over(host: RegisteredHost, pool: Pool, asked: _Asked) -> bool:
    """Whether a host is of a type that its group launches no more, and is not meant for the task."""
    is_of_group = not pool.types_are_known or host.instance_type in pool.instance_types
    why_not = None if is_of_group else asked.refusals([host])[str(host)]
    return why_not is not None and why_not.layer is Layer.ATTRIBUTE


def _of_cluster(
    answers: Answers, places: Sequence[PoolAnswer], asked: _Asked, hosts: Sequence[RegisteredHost]
) -> Iterator[Cause]:
    """Without a strategy it goes to any host of the cluster, and nothing starts one for it."""
    if not hosts and places and all(each.destination.answer is False for each in places):
        yield from map(_never, places)
        return
    refusals = asked.refusals(hosts)
    yield from _of_hosts("the cluster", refusals)
    if answers.were_asked("containerInstances") and None not in refusals.values():
        number_of = asked.hosts_for_them(hosts)
        more = "hosts" if number_of is None else counted(number_of, "more host")
        yield Cause(
            layer=Layer.NOT_SCALED,
            where="the cluster",
            text="it has launch type EC2 and no capacity provider strategy, so that nothing starts hosts for it"
            + ("" if hosts else "; the cluster has no hosts"),
            fix=f"a capacity provider strategy with managed scaling, or {more} for {asked.are_missing}",
        )


def _never(place: PoolAnswer) -> Cause:
    by_type = dict.fromkeys(reason for each in place.destination.by_type for reason in each.reasons)
    reasons = "; ".join(dict.fromkeys((*by_type, *place.reasons)))
    return Cause(
        layer=Layer.NEVER_FITS,
        where=place.destination.pool.name,
        text=f"it does not fit: {reasons}" + (f"; considered: {place.choice}" if place.choice else ""),
        fix=place.fix,
    )


def _of_hosts(where: str, refusals: dict[str, Cause | None]) -> Iterator[Cause]:
    """What keeps it off the hosts that are there, hosts with one reason together, as 3 of 4; or which takes it."""
    free = [name for name, each in refusals.items() if each is None]
    if free:
        yield Cause(
            layer=Layer.STARTING,
            where=where,
            text=f"{some(free)} {'has' if len(free) == 1 else 'have'} room for it: ECS places it with its next "
            "attempt, or it waits for something that these answers do not show, such as a network interface or a "
            "deployment",
        )
        return
    together = grouped((each, host) for host, each in refusals.items() if each is not None)
    for each, names in together.items():
        yield Cause(
            layer=each.layer,
            where=where,
            text=f"{len(names)} of {len(refusals)} hosts: {'each of ' * (len(names) > 1)}{some(names)} {each.text}",
            fix=each.fix,
        )


def _not_of_cluster(answers: Answers, name: str) -> Iterator[Cause]:
    """A capacity provider that its cluster does not have; the cluster alone says that for certain."""
    for cluster in answers.of("clusters"):
        has, default = cluster.get("capacityProviders"), cluster.get("defaultCapacityProviderStrategy")
        if not isinstance(has, list) or name in has:
            continue
        names = [each for each in has if isinstance(each, str)]
        options = {
            "cluster": text(cluster, "clusterName"),
            "capacity_providers": [*names, name],
            "default_capacity_provider_strategy": json.dumps(default or []),
        }
        yield Cause(
            layer=Layer.NOT_SCALED,
            where=name,
            text=f"the cluster has no such capacity provider; it has {and_list(names)}. The strategy may name one of "
            "these, or the cluster gets one more; the command replaces the whole list",
            fix=aws("ecs", "put-cluster-capacity-providers", None, **options),
        )


def _of_its_tasks(answers: Answers, subject: Subject) -> Iterator[Cause]:
    """What holds a service or a task up, as its deployment and its tasks say it."""
    failed = progress_of(subject.described).failed
    if failed:
        yield Cause(
            layer=Layer.DEPLOYMENT,
            text=f"its newest deployment failed: {brief(failed, MESSAGE)}",
            fix="mend the first cause, then deploy it again; ECS does not try this deployment again",
        )
    if subject.kind == "task":
        tasks: list[Thing] = [subject.described]
    else:
        tasks = [each for each in answers.of("tasks") if text(each, "group") == f"service:{subject.name}"]
    hosts = {each.arn: each for each in registered_hosts(answers)}
    for each in tasks:
        arn = text(each, "containerInstanceArn")
        if text(each, "lastStatus") in {"PENDING", "ACTIVATING"} and arn:
            yield Cause(
                layer=Layer.STARTING,
                where=str(hosts.get(arn, short_name(arn))),
                text="a task is placed there, and its containers start: the image is pulled, volumes are mounted",
            )
    stopped = [
        each
        for each in tasks
        if text(each, "lastStatus") == "STOPPED"
        and not (subject.kind == "service" and text(each, "stoppedReason").startswith(_AS_WANTED))
    ]
    for reason, count in Counter(map(why_stopped, stopped)).most_common(3):
        if reason:
            of_reason = [each for each in stopped if why_stopped(each) == reason]
            on = [hosts[arn] for each in of_reason if (arn := text(each, "containerInstanceArn")) in hosts]
            yield _of_reason(reason, count, on)


def _of_reason(reason: str, count: int, hosts: Sequence[RegisteredHost]) -> Cause:
    said = f"{counted(count, 'task')} stopped: {reason}"
    needed = _NEEDS_CUDA.search(reason)
    if "CannotPull" in reason:
        fix = "the name of the image, what the execution role may read, or the way from the hosts to the registry"
        return Cause(layer=Layer.IMAGE, text=said, fix=fix)
    if needed is None:
        fix = "what the reason says; the log of the container has more where it started"
        return Cause(layer=Layer.STOPPED, text=said, fix=fix)
    cuda = int(needed[1]), int(needed[2])
    ami = (hosts[0].attributes.get("ecs.ami-id") if hosts else None) or ""
    return Cause(
        layer=Layer.DRIVER,
        where=str(hosts[0]) if hosts else "",
        text=f"the driver of its AMI{ami and f' {ami}'} is older than CUDA {cuda[0]}.{cuda[1]}, which the container "
        f"image asks for; {said}",
        fix=f"launch the hosts from an image with {_driver_for(cuda, hosts[0].instance_type if hosts else None)}, or "
        f"run a container image that is built for an older CUDA",
    )


def _driver_for(cuda: tuple[int, int], on: InstanceType | None) -> str:
    """The driver that a CUDA needs, and an image of ECS that has it; a driver is of one CUDA, and of all before it."""
    # The branches are known of the first CUDA of each major version alone.
    branch = first_branch(cuda) if cuda[1] == 0 else None
    if branch is None:
        return f"a driver for CUDA {cuda[0]}.{cuda[1]}"
    try:
        image = None if on is None else default_image(on)
    except IncompatibleError:
        image = None
    drivers = None if image is None else drivers_of(image)
    has_it = drivers is not None and drivers.lowest >= (branch,)
    return f"driver branch {branch} or later{f', such as {image} with {drivers}' if has_it else ''}"

"""Tasks that are not judged: other files define their hosts, or only the deploy knows what decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES
from gpu_constructs.facts.names import AMI_ID, name_problem
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, Scheduler, Task, Unknown, Workload
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import environments_by_hand
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, items_with_tasks, pools_of
from gpu_constructs.placement.reasons import DoubtKind
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.evidence.accelerated import is_managed
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, info

# What makes known what is missing.
_OTHER_CONSTRAINTS = "constraints on what the files say of the hosts, such as attribute:ecs.instance-type"
_FACTS = "Metadata: {{gpu-constructs: {{MachineImage: {{{}}}}}}} of what names it"
_TEMPLATE = f"check these files with the one that does, or declare its image: {_FACTS}"
_DECLARED_TYPE = f"declare the type: instance_types in {CONFIGURATION_FILES[0]}, or declare_instance_types in the app"
_LOG_DRIVERS = "ECS_AVAILABLE_LOGGING_DRIVERS in user data that these files have as a whole"
_OPTIONS = "write CoreCount and ThreadsPerCore out, or take them from context"
_USUAL = "describe hosts of a type for which there is an ECS-optimized image"
_PROVIDED = "one kind of types, with an ImageType of AWS Batch: ECS_AL2023_NVIDIA, or ECS_AL2023 without GPUs"
_MORE_FILES = "check these files with those that do, or describe the hosts, such as --hosts g6.xlarge=4"
_ENVIRONMENTS = "check these files with the compute environment and the job queue of its jobs"

UNCHECKED: Final = "GPU229"
"""The rule whose findings say that something was not judged: its tasks are counted, and are shown without asking."""


@info(
    "GPU229",
    question="do the files define each task for Amazon EC2 and the hosts that it runs on?",
    because="whether a task fits depends on its hosts; what other files define, or only the deploy knows, is not "
    "checked, unless these files are given in the same call or the hosts are described with --hosts",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
    unless=("GPU040", "GPU042", "GPU063", "GPU070", "GPU098", "GPU130", "GPU309"),
)
def on_hosts_of_these_files(context: Context) -> Problems:
    missing: dict[str, dict[str, str]] = {}  # what is, with what makes it known, by the name of the task
    routes = {each.task.name: each.task for each in context.routes}
    senders: dict[str, list[Workload | Pool]] = {}
    for route in context.routes:
        named = {*route.task.compatibilities}
        is_sent = "EC2" in named and named.isdisjoint({"FARGATE", "EXTERNAL"})
        is_sent = is_sent or (route.workload is not None and _runs_on_ec2(route.task))
        if is_sent or demand_of(route.task).gets_accelerator:
            asked = dict(_asked_of_hosts(route))
            if asked and route.workload is not None:
                senders.setdefault(route.task.name, []).append(route.workload)
            images = {what: (fix, pool) for what, fix, pool in _images(context, route)}
            senders.setdefault(route.task.name, []).extend(pool for _, pool in images.values())
            of_images = {what: fix for what, (fix, _) in images.items()}
            missing.setdefault(route.task.name, {}).update({**dict(_missing(context, route)), **of_images, **asked})
    for name, hosts in missing.items():
        fixes = {*hosts.values()}
        if hosts:
            yield Problem(
                about=routes[name],
                involves=tuple(senders.get(name, ())),
                message=f"these files do not define {or_list(hosts)}, so it is not known whether {name} fits its hosts",
                fix=fixes.pop() if len(fixes) == 1 else _MORE_FILES,
            )
    placed = {each.task.name for each in context.assignments}
    for task in context.tasks:
        types = [one.type for each in task.containers for one in each.requirements]
        is_open = bool(types) and all(isinstance(each, Unknown) for each in types) and _runs_on_ec2(task)
        if is_open and task.name not in placed and not missing.get(task.name):
            yield Problem(
                about=task,
                message=f"what the containers of {task.name} ask for is only known at deploy time, so it is not known "
                "whether it fits its hosts",
                property_name="ContainerDefinitions",
                fix="write it, or take it from context",
            )
    yield from _of_unknown_tasks(context.fleet)


def _of_unknown_tasks(fleet: Fleet) -> Problems:
    for hidden in (each for each in fleet.remarks if each.hides_work):
        yield Problem(about=hidden.origin.resource, message=hidden.text, fix=hidden.fix, origin=hidden.origin)
    for workload in fleet.workloads:
        if workload.task is None and _is_sent_to_hosts(workload):
            yield Problem(
                about=workload,
                message=f"these files do not define the task definition of {workload.name}, so it is not known whether "
                "its tasks fit their hosts",
                property_name="TaskDefinition",
                fix="check these files together with the one that does",
            )


def _is_sent_to_hosts(workload: Workload) -> bool:
    """Whether tasks go to Amazon EC2, as far as what is written tells, not to Fargate or to other machines."""
    if workload.strategy:
        named = (each.provider for each in workload.strategy if each.pool is not None or isinstance(each.provider, str))
        return any(each not in FARGATE_PROVIDERS for each in named)
    return workload.launch_type in EC2_LAUNCH_TYPES


def _runs_on_ec2(task: Task) -> bool:
    return "FARGATE" not in task.compatibilities or "EC2" in task.compatibilities


def _of_environments(fleet: Fleet, task: Task) -> Iterator[str]:
    """What is missing of a task that has no pool: a job of AWS Batch is held against environments with accelerators."""
    there = environments_by_hand(fleet, task) if task.scheduler is Scheduler.BATCH else ()
    gets_some = demand_of(task).gets_accelerator
    if not there or (not fleet.is_whole and gets_some):
        yield "its hosts"
    elif gets_some:
        yield from (f"the hosts of {brief(each.name)}" for each in there if not each.lacks_accelerators)


def _asked_of_hosts(route: Route) -> Iterator[tuple[str, str]]:
    """What placement constraints and containers ask for and the files do not say of the hosts, with what does."""
    open_ = {DoubtKind.CONSTRAINT, *(() if demand_of(route.task).unknown else (DoubtKind.DEPLOY_TIME,))}
    for each in route.in_doubt:
        unscaled = set() if each.pool.is_scaled_by_ecs and route.every else {DoubtKind.CONSTRAINED_PLACES}
        if any(doubt.kind in open_ | unscaled for doubt in each.fit.doubts):
            yield f"what placement constraints ask of {brief(each.pool.name)}", _OTHER_CONSTRAINTS
        if any(doubt.kind is DoubtKind.AGENT for doubt in each.fit.doubts):
            yield f"the log drivers of {brief(each.pool.name)}", _LOG_DRIVERS
        if isinstance(each.pool.vcpus, Unknown) and any(doubt.kind is DoubtKind.HOSTS for doubt in each.fit.doubts):
            yield f"the CpuOptions of {brief(each.pool.name)}", _OPTIONS


def _images(context: Context, route: Route) -> Iterator[tuple[str, str, Pool]]:
    """Machine images of which only their owner, or the deploy, knows whether they have a driver and the agent.

    Each with what makes it known. Those of ECS Managed Instances are of AWS.
    """
    fact = "DriverVersion: 580.95.05" if route.task.wants_gpu else "Accelerator: neuron"
    for each in route.destinations if demand_of(route.task).gets_accelerator else ():
        pool = each.pool
        is_open = isinstance(pool.image, Unknown) and pool.types_are_known and each.fit.answer is not False
        if is_open and pool.kind is not PoolKind.MANAGED_INSTANCES and not is_managed(context, pool):
            is_id = AMI_ID.fullmatch(pool.image_written or "")
            which = str(pool.image_written) if is_id else f"of {pool.name}"
            is_unread = pool.kind is PoolKind.BATCH and {pool.names_image, pool.user_data.format} == {UNKNOWN}
            what = f"the launch template of {pool.name}" if is_unread else f"what is in the machine image {which}"
            own = f"declare it: {_FACTS}" if pool.origin else _USUAL  # hosts of --hosts have no metadata
            is_provided = pool.kind is PoolKind.BATCH and pool.names_image is not True
            yield what, (_TEMPLATE if is_unread else _PROVIDED if is_provided else own).format(fact), pool


def _missing(context: Context, route: Route) -> Iterator[tuple[str, str]]:
    """What of the hosts of a task the files do not define, each with what makes it known."""
    for each in route.destinations:
        if not each.pool.types_are_known and isinstance(each.fit.answer, Unknown):
            names = () if each.pool.has_unknown_types else each.pool.unknown_type_names
            new = () if any(map(name_problem, names)) else names
            yield from ((f"what is in a host of the type {each}", _DECLARED_TYPE) for each in new)
            if not new:
                yield f"the instance types of {each.pool.name}", _MORE_FILES
    workload = route.workload
    if workload is None:
        if not route.destinations and not route.elsewhere and "EXTERNAL" not in route.task.compatibilities:
            fix = _ENVIRONMENTS if route.task.scheduler is Scheduler.BATCH else _MORE_FILES
            yield from ((each, fix) for each in _of_environments(context.fleet, route.task))
    elif workload.strategy:
        for item in items_with_tasks(workload.strategy):
            if item.pool is None and item.provider not in FARGATE_PROVIDERS:
                named = isinstance(item.provider, str)
                which = f"capacity provider {brief(str(item.provider))}"
                yield which if named else f"the capacity provider of {workload.name}", _MORE_FILES
    elif workload.launch_type in EC2_LAUNCH_TYPES and not pools_of(context.fleet, workload):
        of = workload.cluster
        which = (
            "the default cluster" if of is None else f"cluster {brief(of)}" if isinstance(of, str) else "its cluster"
        )
        yield f"hosts of {which}", _MORE_FILES

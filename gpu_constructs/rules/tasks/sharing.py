"""GPUs that containers share through NVIDIA MPS: which hosts can serve a share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.errors import brief
from gpu_constructs.facts import InstanceType, image
from gpu_constructs.facts.cuda import dotted
from gpu_constructs.facts.gpu_features import MPS_FIRST_AGENT, MPS_FIRST_RELEASE, MPS_LEAST_CAPABILITY, MPS_SERVICE
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import GPU, HostImage, ResourceRequirement, Task, Unknown, Workload
from gpu_constructs.placement.machine import is_before_volta, sharing_of
from gpu_constructs.placement.route import Destination, Route
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.fixes import hosts_for, with_container
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, one_way, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_SHARING = (
    "https://github.com/aws/agent-toolkit-for-aws/blob/main/skills/core-skills/aws-containers/references/"
    "ecs-gpu-sharing.md"
)
_GATES = "https://github.com/aws/amazon-ecs-agent/blob/master/ecs-init/gpu/nvidia_gpu_manager.go"
_NEWER = "an image with a newer ECS agent and the MPS service"
_AGENT = f"image al2023-gpu of release 2023.0.{MPS_FIRST_RELEASE} or later"
_WHOLE = "whole GPUs (Value)"
_LEAST = dotted(MPS_LEAST_CAPABILITY)


@warning(
    "GPU030",
    question="is it known that the image of the hosts can share GPUs?",
    because=f"sharing needs ECS agent {MPS_FIRST_AGENT} and {MPS_SERVICE}, which the Amazon Linux 2023 GPU image has; "
    "AWS does not say whether other images have both",
    source=_GATES,
    unless=("GPU130", "GPU309"),
)
def served(context: Context) -> Problems:
    for route in context.routed(lambda task: task.shares_gpu):
        known = [(each.is_certain, *sharing_of(each.pool)) for each in route.destinations]
        doubts = ["" if is_certain and shares is False else why for is_certain, shares, why in known]
        # Whoever runs it by hand chooses hosts that can.
        if route.workload is None and "" in doubts:
            continue
        for each, doubt in zip(route.destinations, doubts, strict=True):
            if doubt:
                yield _problem(route, each, f": {doubt}", fix=_NEWER, ways=_new_enough(each))


def _sent_where_none_is_shared(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        task = workload.task
        external = workload.launch_type == "EXTERNAL"
        if external and task is not None and task.shares_gpu and "EXTERNAL" not in task.compatibilities:
            yield Problem(
                about=workload,
                message=f"{workload.name} shares GPUs through MPS ({_who(task)}) with launch type EXTERNAL, whose "
                "hosts cannot share GPUs",
                fix=_WHOLE,
            )
    for route, each in _shared(context):
        types = each.pool.instance_types
        if each.is_certain and each.pool.types_are_known and all(each.is_fractional for each in types):
            yield _problem(
                route,
                each,
                f", whose hosts ({and_list(types)}) have a part of a GPU; only whole GPUs are shared",
                fix="a part of a GPU as the value, or hosts with whole GPUs",
                ways=(*_with_part(route.task, types[0]), (Way(text="hosts with whole GPUs"),)),
            )
        elif each.is_certain and each.pool.types_are_known and all(map(is_before_volta, types)):
            what = f"GPUs of compute capability {_LEAST} or higher,"
            known = sorted(filter(None, {one.compute_capability for one in types}))
            found = _problem(
                route,
                each,
                f", whose GPUs ({and_list(types)}) have compute capability {or_list(map(dotted, known))}; "
                f"MPS limits memory and compute from {_LEAST} on",
                fix=_WHOLE,
                ways=(hosts_for(route.task, each.pool, what, of_other_families=True), (Way(text=_WHOLE),)),
            )
            yield replace(found, is_certain=False)


@error(
    "GPU032",
    question="do shares of a GPU run where ECS can share one?",
    because="GPU sharing works on EC2 hosts and ECS Managed Instances, not for tasks of EXTERNAL compatibility; the "
    "agent does not offer it on hosts with a vGPU, which is what g6f and gr6f have; MPS treats all clients of a GPU "
    f"before Volta (compute capability {_LEAST}) as one",
    softer=f"for GPUs before Volta, of which no page says whether ECS shares them, and {WHILE_SPARED}",
    source=_GATES,
    in_fleet=_sent_where_none_is_shared,
)
def shareable(task: Task) -> Problems:
    if task.shares_gpu and "EXTERNAL" in task.compatibilities:
        yield Problem(
            message=f"{task.name} shares GPUs through MPS ({_who(task)}) and is for "
            f"{and_list(map(brief, task.compatibilities))}; hosts of launch type EXTERNAL cannot share GPUs",
            fix=f"RequiresCompatibilities without EXTERNAL, or {_WHOLE}",
        )


@error(
    "GPU033",
    question="is the image of the hosts new enough to share GPUs?",
    because="ECS agents before 1.107.0 (24 September 2026) do not have the capability, and the Amazon Linux 2 images "
    "have no MPS service: ECS places no task that asks for a share on their hosts",
    softer=WHILE_SPARED,
    source="https://github.com/aws/amazon-ecs-agent/releases/tag/v1.107.0",
)
def new_enough(context: Context) -> Problems:
    for route, each in _shared(context):
        answer, reason = sharing_of(each.pool)
        if each.is_certain and answer is False:
            yield _problem(route, each, f": {reason}", fix=_NEWER, ways=_new_enough(each))


@warning(
    "GPU034",
    question="does a fault of one container leave other containers running?",
    because="containers that share a GPU fail together: a fatal fault of one container, such as an illegal memory "
    "access, restarts the others, and there are no GPU metrics for each task",
    source=_SHARING,
    changes="ResourceRequirements",
)
def apart(context: Context) -> Problems:
    copies = grouped(
        (each.task.name, each) for each in context.fleet.workloads if each.task is not None and each.task.shares_gpu
    )
    for task in context.tasks:
        if not task.shares_gpu:
            continue
        sharing = [each.name for each in task.containers if each.mps]
        several = [f"{each.name} ({_copies(each)})" for each in copies.get(task.name, ()) if _copies(each)]
        if len(sharing) > 1 or several:
            who = f"the containers {and_list(sharing)}" if len(sharing) > 1 else f"the copies of {and_list(several)}"
            yield Problem(
                about=task,
                message=f"{who} may share a GPU through MPS: a fatal fault of one, such as an illegal memory access, "
                "restarts the others, and there are no GPU metrics for each task",
                fix=f"{_WHOLE} for what must not stop with others",
            )


def _shared(context: Context) -> Iterator[tuple[Route, Destination]]:
    """Routes of tasks with shares of a GPU, with each pool they may run on."""
    return ((one, each) for one in context.routed(lambda task: task.shares_gpu) for each in one.destinations)


def _problem(route: Route, each: Destination, why: str, *, fix: str, ways: Ways = ()) -> Problem:
    who = f"{route.sender.name} shares GPUs through MPS ({_who(route.task)})"
    return Problem(
        about=route.sender,
        involves=(each.pool,),
        message=f"{who} on {each.pool.name}{why}",
        fix=fix,
        ways=ways,
        property_name="ResourceRequirements",
        is_certain=not each.is_spared,
    )


def _new_enough(each: Destination) -> Ways:
    """The image of AWS that shares GPUs."""
    return one_way(_AGENT, replace(each.pool, image=HostImage(image=image("al2023-gpu"))))


def _with_part(task: Task, instance_type: InstanceType) -> Ways:
    """The part of a GPU that a host has, for a task of which one container shares."""
    devices, sharing = instance_type.accelerators, [each for each in task.containers if each.mps]
    if devices is None or len(sharing) != 1:
        return ()
    others = tuple(each for each in sharing[0].requirements if each.type != GPU)
    part = ResourceRequirement(value=f"{devices.partition:g}")
    new = replace(sharing[0], requirements=(*others, part))
    text = Text("a part of a GPU as ", Word('the value, "Value":'), f' "{part.value}"')
    return one_way(text, with_container(task, sharing[0], new))


def _copies(workload: Workload) -> str:
    """How many copies there may be, in words; empty for one or none."""
    counts = [each for each in (workload.desired_count, workload.max_count) if each is not None]
    if workload.daemon is True:
        return "one on every host"
    if any(isinstance(each, Unknown) for each in counts):
        return "a number that is only known at deploy time"
    most = max((each for each in counts if isinstance(each, int)), default=0)
    return f"up to {most}" if most > 1 else ""


def _who(task: Task) -> str:
    return and_list(each.name for each in task.containers if each.mps)

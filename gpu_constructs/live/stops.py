"""What the tasks of a service say themselves: those that start, and those that stopped, by their reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from gpu_constructs.budget import MESSAGE, brief
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.hardware import InstanceType
from gpu_constructs.hardware.cuda import first_branch
from gpu_constructs.hardware.images import default_image, drivers_of
from gpu_constructs.live.described import Answers, Thing, listed, number, short_name, text
from gpu_constructs.live.hosts import Layer, RegisteredHost, registered_hosts
from gpu_constructs.live.places import Cause
from gpu_constructs.live.progress import progress_of
from gpu_constructs.live.subjects import Subject

_MOST_REASONS = 3
_AS_WANTED = "Scaling activity initiated by"
"""Of a task that its service no longer wanted (https://repost.aws/knowledge-center/ecs-task-stopped)."""

_STARTS = ("PENDING", "ACTIVATING")

_AMI = "ecs.ami-id"
_NEEDS_CUDA = re.compile(r"unsatisfied condition: cuda>=([0-9]{1,3})\.([0-9]{1,2})")
"""Of the NVIDIA container runtime, which holds NVIDIA_REQUIRE_CUDA of an image against the driver of the host
(https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html)."""


def of_its_tasks(answers: Answers, subject: Subject) -> Iterator[Cause]:
    """What holds a service or a task up, as its deployment and its tasks say it."""
    failed = progress_of(subject.described).failed
    if failed:
        yield Cause(
            layer=Layer.DEPLOYMENT,
            where="",
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
        if text(each, "lastStatus") in _STARTS and arn:
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
    for reason, count in Counter(map(_why_stopped, stopped)).most_common(_MOST_REASONS):
        if reason:
            of_reason = [each for each in stopped if _why_stopped(each) == reason]
            on = [hosts[arn] for each in of_reason if (arn := text(each, "containerInstanceArn")) in hosts]
            yield _of_reason(reason, count, on)


def _of_reason(reason: str, count: int, hosts: Sequence[RegisteredHost]) -> Cause:
    said = f"{count} task{'' if count == 1 else 's'} stopped: {reason}"
    needed = _NEEDS_CUDA.search(reason)
    if needed is None:
        return Cause(
            layer=Layer.STOPPED,
            where="",
            text=said,
            fix="what the reason says; the log of the container has more where it started",
        )
    cuda = int(needed[1]), int(needed[2])
    ami = (hosts[0].attributes.get(_AMI) if hosts else None) or ""
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


def _why_stopped(task: Thing) -> str:
    of_containers = [
        f"{text(each, 'name')}: {text(each, 'reason')}"
        if text(each, "reason")
        else f"{text(each, 'name')} exited {code}"
        for each in listed(task, "containers")
        if (code := number(each, "exitCode")) or text(each, "reason")
    ]
    return brief("; ".join(filter(None, (text(task, "stoppedReason"), *of_containers))), MESSAGE)

"""Keys of task definitions: those that ECS Managed Instances refuse, and those that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Container, PoolKind, Scheduler, Task
from gpu_constructs.fleet.keys import CONTAINER_KEYS, TASK_KEYS
from gpu_constructs.hardware.managed_instances import (
    CONTAINER_SETTINGS_REFUSED,
    TASK_SETTINGS_REFUSED,
    VOLUME_SETTINGS_REFUSED,
)
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list, with_verb
from gpu_constructs.rules.evidence.walk import MANAGED_INSTANCES
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule
from gpu_constructs.rules.tasks.key_names import (
    CONTAINER_WORDS,
    GPU_WORDS,
    REQUIREMENT_KEYS,
    REQUIREMENT_WORDS,
    TASK_WORDS,
    plain,
)

_CFN = "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html"

_NOT_MANAGED = {
    **TASK_SETTINGS_REFUSED,
    **{f"Volumes.{setting}": name for setting, name in VOLUME_SETTINGS_REFUSED.items()},
    **CONTAINER_SETTINGS_REFUSED,
}


@rule(
    "GPU047",
    Severity.WARNING,
    about=Context,
    question="does a task on ECS Managed Instances use only settings that are valid there?",
    because="ECS checks a task definition for Managed Instances and refuses parameters that are not valid there, "
    "ipcMode, sharedMemorySize and tmpfs among them",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html",
)
def manageable(context: Context) -> Iterator[Problem]:
    managed = {
        assignment.task.name
        for assignment in context.assignments
        if any(each.pool.kind is PoolKind.MANAGED_INSTANCES for each in assignment.destinations)
    }
    for task in context.tasks:
        if task.scheduler is not Scheduler.ECS or (
            MANAGED_INSTANCES not in task.compatibilities and task.name not in managed
        ):
            continue
        refused = tuple(dict.fromkeys(_refused(task)))
        if refused:
            yield Problem(
                about=task,
                message=f"{task.name} is for ECS Managed Instances, where {with_verb(refused, 'is', 'are')} not valid",
                fix="leave out what is not valid there, or capacity of EC2 hosts",
            )


@rule(
    "GPU048",
    Severity.ERROR,
    about=Context,
    question="are the keys of task definitions and containers spelled as ECS spells them?",
    because="CloudFormation refuses a key that the resource does not have (extraneous key is not permitted), and so "
    "does the AWS CLI",
    source=_CFN,
)
def spelled(context: Context) -> Iterator[Problem]:
    for each in _unknown(context):
        right = each.right
        if right is not None:
            yield Problem(
                about=each.task,
                container=each.container,
                message=f"{brief(each.key)} is no key of {each.where}",
                fix=right,
            )


@rule(
    "GPU049",
    Severity.WARNING,
    about=Context,
    question="are all keys of task definitions and containers known?",
    because="a key that the resource does not have is refused; one that came after this library's list is not",
    source=_CFN,
)
def known_keys(context: Context) -> Iterator[Problem]:
    for each in _unknown(context):
        if each.right is None:
            near = each.near
            yield Problem(
                about=each.task,
                container=each.container,
                message=f"{brief(each.key)} is no key of {each.where} that is known here; unless it is a new one, it "
                "is refused",
                fix=f"did you mean {near}?" if near else "leave it out",
            )
    for task in context.tasks:
        for container in task.containers:
            keys = [key for entry in container.requirements for key in entry.unknown_keys]
            # Of the others GPU021 has more to say.
            unknown = [key for key in keys if plain(key) not in {*REQUIREMENT_WORDS, *REQUIREMENT_KEYS}]
            if unknown:
                yield Problem(
                    about=task,
                    container=container,
                    message=f"{and_list(map(brief, unknown))} of a resource requirement of container {container.name} "
                    "is not known here; unless it is a new key, it is refused",
                    fix="Type and Value, or Type and SharingStrategy",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """A key that the API does not have."""

    key: str
    task: Task
    container: Container | None = None

    @property
    def where(self) -> str:
        return "a task definition" if self.container is None else f"a container ({self.container.name})"

    @property
    def right(self) -> str | None:
        """What is certainly meant; None if nobody can say."""
        own, other = (TASK_KEYS, CONTAINER_KEYS) if self.container is None else (CONTAINER_KEYS, TASK_KEYS)
        words = TASK_WORDS if self.container is None else CONTAINER_WORDS
        wanted = plain(self.key)
        for each in own:
            if plain(each) == wanted:
                return f"write it {_cased(self.key, each)}"
        if wanted in words:
            return words[wanted]  # a key, or a sentence
        for each in other:
            if plain(each) == wanted and "." not in each:
                return f"it belongs to {'each container' if self.container is None else 'the task definition'}"
        return None

    @property
    def near(self) -> str | None:
        keys = {plain(each): each for each in (TASK_KEYS if self.container is None else CONTAINER_KEYS)}
        found = get_close_matches(plain(self.key), keys, n=1, cutoff=0.75)
        return _cased(self.key, keys[found[0]]) if found else None


def _unknown(context: Context) -> Iterator[_Key]:
    """Keys that are not known, but those that ask for GPUs, of which GPU021 has more to say."""
    for task in context.tasks:
        if task.scheduler is not Scheduler.ECS:
            continue
        for key in _other(task.unknown_keys):
            yield _Key(key=key, task=task)
        for container in task.containers:
            for key in _other(container.unknown_keys):
                yield _Key(key=key, task=task, container=container)


def _other(keys: Iterable[str]) -> Iterator[str]:
    return (each for each in keys if plain(each) not in GPU_WORDS and plain(each) != "inferenceaccelerators")


def _cased(written: str, right: str) -> str:
    """The right key in the case that fits: templates begin with a capital, the API's own JSON does not."""
    camel = ".".join(f"{each[0].lower()}{each[1:]}" for each in right.split("."))
    if written == right:
        return camel
    return right if written == camel else f"{right} (in a task definition of the ECS API: {camel})"


def _refused(task: Task) -> Iterator[str]:
    if task.ipc_mode is not None:
        yield "ipcMode"
    # `bridge` is also what stands there when nothing was written, and then Managed Instances take awsvpc.
    if task.network_mode == "none":
        yield "network mode none"
    yield from (_NOT_MANAGED[key] for key in task.used_keys if key in _NOT_MANAGED)
    for container in task.containers:
        if container.shared_memory_mib is not None:
            yield "sharedMemorySize"
        yield from (_NOT_MANAGED[key] for key in container.used_keys if key in _NOT_MANAGED)

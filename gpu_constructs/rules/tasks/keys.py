"""Keys of task definitions: those that ECS Managed Instances refuse, and those that ECS does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from gpu_constructs.budget import brief, work
from gpu_constructs.fleet import Container, PoolKind, Scheduler, Task
from gpu_constructs.fleet.keys import CONTAINER_KEYS, TASK_KEYS
from gpu_constructs.hardware.managed_instances import (
    CONTAINER_SETTINGS_REFUSED,
    TASK_SETTINGS_REFUSED,
    VOLUME_SETTINGS_REFUSED,
)
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES
from gpu_constructs.rules.evidence.lists import with_verb
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.tasks.key_names import (
    CONTAINER_WORDS,
    GPU_WORDS,
    REQUIREMENT_KEYS,
    REQUIREMENT_WORDS,
    TASK_WORDS,
    plain,
)
from gpu_constructs.values import dataclass

_CFN = "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html"

_NOT_MANAGED = {
    **TASK_SETTINGS_REFUSED,
    **{f"Volumes.{setting}": name for setting, name in VOLUME_SETTINGS_REFUSED.items()},
    **CONTAINER_SETTINGS_REFUSED,
}

_OF_TASKS, _OF_CONTAINERS = ({plain(each): each for each in keys} for keys in (TASK_KEYS, CONTAINER_KEYS))

# To compare a key with all that are known, as measured.
_STEPS_OF_NEAR = 2_000

# Keys by which people name the types of hosts at a capacity provider.
_TYPE_WORDS = frozenset({"instancefamily", "instancetype", "instancetypes", "launchtype"})


def _sent_to_managed(context: Context) -> Problems:
    if all(each.kind is not PoolKind.MANAGED_INSTANCES for each in context.fleet.pools):
        return
    sent = {
        assignment.task.name
        for assignment in context.assignments
        if any(each.pool.kind is PoolKind.MANAGED_INSTANCES for each in assignment.destinations)
    }
    for task in context.tasks:
        if task.name in sent and MANAGED_INSTANCES not in task.compatibilities:
            yield from _refused_there(task)


@error(
    "GPU047",
    question="does a task for ECS Managed Instances use only settings that are valid there?",
    because="ECS checks a task definition that requires MANAGED_INSTANCES and refuses parameters that are not valid "
    "there, network mode bridge, ipcMode, sharedMemorySize and tmpfs among them",
    softer="for tasks that do not require it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html",
    in_fleet=_sent_to_managed,
)
def manageable(task: Task) -> Problems:
    if MANAGED_INSTANCES in task.compatibilities:
        yield from _refused_there(task)


def _refused_there(task: Task) -> Problems:
    refused = dict(_refused(task)) if task.scheduler is Scheduler.ECS else {}
    if refused:
        yield Problem(
            about=task,
            message=f"{task.name} is for ECS Managed Instances, where {with_verb(refused, 'is', 'are')} not valid",
            fix="NetworkMode awsvpc or host"
            if set(refused.values()) == {"NetworkMode"}
            else f"leave {'it' if len(refused) == 1 else 'them'} out, or use EC2 hosts of an Auto Scaling group",
            property_name=next(iter(refused.values())),
            is_certain=MANAGED_INSTANCES in task.compatibilities,
        )


def _of_providers(context: Context) -> Problems:
    for pool in context.fleet.pools:
        for key in pool.unknown_keys:
            if plain(key) in _TYPE_WORDS:
                yield Problem(
                    about=pool,
                    property_name=f"AutoScalingGroupProvider.{key}",
                    message=f"a capacity provider has no key {brief(key)}: its hosts are those of its Auto Scaling "
                    "group",
                    fix="the type in the launch template of the group, or several in its MixedInstancesPolicy",
                )


@error(
    "GPU048",
    question="are the keys of the task definition and its containers spelled as ECS spells them, and do capacity "
    "providers leave the types of hosts to their groups?",
    because="CloudFormation refuses a key that the resource does not have (extraneous key is not permitted), and so "
    "does the AWS CLI",
    source=_CFN,
    in_fleet=_of_providers,
)
def spelled(task: Task) -> Problems:
    for each in _unknown(task):
        right = each.right
        if right is not None:
            yield Problem(
                container=each.container,
                message=f"{each.where} has no key {brief(each.key)}",
                fix=right,
            )


@warning(
    "GPU049",
    question="are all keys of the task definition and its containers known?",
    because="CloudFormation refuses a key that the resource does not have; a key that AWS added after this library's "
    "list was made is taken",
    source=_CFN,
)
def known_keys(task: Task) -> Problems:
    for each in _unknown(task):
        if each.right is None:
            near = each.near
            yield Problem(
                container=each.container,
                message=f"{brief(each.key)} is not a known key of {each.where}; it is refused unless it is new",
                fix=f"did you mean {near}?" if near else "leave it out",
            )
    for container in task.containers:
        keys = [key for entry in container.requirements for key in entry.unknown_keys]
        # GPU021 has more to say about the others.
        unknown = [key for key in keys if plain(key) not in {*REQUIREMENT_WORDS, *REQUIREMENT_KEYS}]
        if unknown:
            are_not = with_verb(map(brief, unknown), "is not a known key", "are not known keys")
            yield Problem(
                container=container,
                message=f"{are_not} of a resource requirement of container {container.name}; what is not new is "
                "refused",
                fix="Type and Value, or Type and SharingStrategy",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """A key that the API does not have."""

    key: str
    container: Container | None = None

    @property
    def where(self) -> str:
        return "a task definition" if self.container is None else f"a container ({self.container.name})"

    @property
    def right(self) -> str | None:
        """What is certainly meant; None if that is not clear."""
        own, other = (_OF_TASKS, _OF_CONTAINERS) if self.container is None else (_OF_CONTAINERS, _OF_TASKS)
        words = TASK_WORDS if self.container is None else CONTAINER_WORDS
        wanted = plain(self.key)
        if wanted in own:
            return f"write it {_cased(self.key, own[wanted])}"
        if wanted in words:
            return words[wanted]  # a key, or a sentence
        if wanted in other and "." not in other[wanted]:
            return f"it belongs to {'each container' if self.container is None else 'the task definition'}"
        return None

    @property
    def near(self) -> str | None:
        """The known key that looks most like it; None also where there is no work left to compare them."""
        if not work().takes(_STEPS_OF_NEAR):
            return None
        keys = _OF_TASKS if self.container is None else _OF_CONTAINERS
        found = get_close_matches(plain(self.key), keys, n=1, cutoff=0.75)
        return _cased(self.key, keys[found[0]]) if found else None


def _unknown(task: Task) -> Iterator[_Key]:
    """Keys that are not known; not those that ask for GPUs, about which GPU021 has more to say."""
    if task.scheduler is not Scheduler.ECS:
        return
    for key in _other(task.unknown_keys):
        yield _Key(key=key)
    for container in task.containers:
        for key in _other(container.unknown_keys):
            yield _Key(key=key, container=container)


def _other(keys: Iterable[str]) -> Iterator[str]:
    return (each for each in keys if plain(each) not in GPU_WORDS and plain(each) != "inferenceaccelerators")


def _cased(written: str, right: str) -> str:
    """The right key in the case that fits: templates begin with a capital, the JSON of the API does not."""
    camel = ".".join(f"{each[0].lower()}{each[1:]}" for each in right.split("."))
    if written == right:
        return camel
    return right if written == camel else f"{right} (in a task definition of the ECS API: {camel})"


def _refused(task: Task) -> Iterator[tuple[str, str]]:
    """What is not valid on Managed Instances, as their page calls it, with the property."""
    if task.ipc_mode is not None:
        yield "ipcMode", "IpcMode"
    # `bridge` also stands for nothing, where Managed Instances take awsvpc.
    if task.network_mode == "none" or (task.network_mode == "bridge" and task.names_network_mode):
        yield f"network mode {task.network_mode}", "NetworkMode"
    yield from ((_NOT_MANAGED[key], key) for key in task.used_keys if key in _NOT_MANAGED)
    for container in task.containers:
        if container.shared_memory_mib is not None:
            yield "sharedMemorySize", "LinuxParameters.SharedMemorySize"
        yield from ((_NOT_MANAGED[key], key) for key in container.used_keys if key in _NOT_MANAGED)

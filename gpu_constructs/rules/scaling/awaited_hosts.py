"""New hosts: does what waits for them hear from them?

Signals and lifecycle hooks are in files alone, so these rules read the properties of the resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import brief
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import HostAction, Pool, Unknown
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.section import Section, given

_HOOK = "AWS::AutoScaling::LifecycleHook"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
# What may complete lifecycle actions may call this, or a rule gives it the events.
_COMPLETES = ("autoscaling:CompleteLifecycleAction", "lifecycle", "aws.autoscaling")
_CREATION, _UPDATE = "CreationPolicy", "UpdatePolicy"


@error(
    "GPU306",
    question="does every host send the signal that CloudFormation waits for?",
    because="with a ResourceSignal, or WaitOnResourceSignals in an update, CloudFormation waits for a signal of each "
    "host; the deploy fails after the timeout and is rolled back if nothing sends it",
    softer="where an update may go on without any",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-creationpolicy.html",
    changes="UserData",
)
def sends_signals(context: Context) -> Problems:
    for pool, group in _groups(context, HostAction.SIGNALS):
        waits, must_come = _awaits_signals(group)
        # A program with that permission may send the signals of hosts.
        if waits and not context.index.others.may_call("cloudformation:SignalResource"):
            yield Problem(
                about=pool,
                message=f"CloudFormation waits for a signal of the hosts of {pool.name} ({waits}), and their user data "
                "sends none",
                fix=f"cfn-signal at the end of the user data, or leave the signals out of {waits}",
                property_name="UserData",
                is_certain=must_come,
            )


@error(
    "GPU316",
    question="does something complete the lifecycle hook that new hosts wait for?",
    because="a new host waits until something completes the action of each launch hook; after the timeout the default "
    "result ABANDON ends the host, and the group launches the next one, which waits as well",
    softer="where other files may complete the action",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutLifecycleHook.html",
    stops_work=True,
)
def launch_is_completed(context: Context) -> Problems:
    separate = context.once(_separate_hooks)
    for pool, group in _groups(context, HostAction.COMPLETES_HOOKS):
        listed = Section.of(group, []).sections("LifecycleHookSpecificationList")
        hooks = [
            *((str(each.path[-1]), each) for each in listed),
            *((each.logical_id, Section.of(each, [])) for each in separate.get(group.reference, ())),
        ]
        for otherwise, hook in hooks:
            is_held = hook.text("LifecycleTransition") == "autoscaling:EC2_INSTANCE_LAUNCHING"
            is_abandoned = hook.text("DefaultResult") in {None, "ABANDON"} and not hook.has("NotificationTargetARN")
            if not (is_held and is_abandoned) or context.index.others.may_call(*_COMPLETES):
                continue
            name, seconds = hook.text("LifecycleHookName"), given(hook.integer("HeartbeatTimeout"), 3600)
            waits = "" if isinstance(seconds, Unknown) else f" after {seconds} seconds"
            yield Problem(
                about=pool,
                message=f"new hosts of {pool.name} wait for the lifecycle hook "
                f"{brief(name if isinstance(name, str) else otherwise)}, which nothing in these files completes: the "
                f"default result ABANDON ends them{waits}",
                fix="aws autoscaling complete-lifecycle-action at the end of the user data, a function that completes "
                "the action, or DefaultResult: CONTINUE",
                property_name="DefaultResult",
                origin=hook.origin,
                is_certain=context.fleet.is_whole,
            )


def _groups(context: Context, action: HostAction) -> Iterator[tuple[Pool, Resource]]:
    """Pools whose hosts certainly do not take an action themselves, with their Auto Scaling groups."""
    for pool in context.fleet.pools:
        if pool.has_image_of_aws and action in pool.user_data.actions_never_taken:
            group = context.group(pool)
            if group is not None:
                yield pool, group


def _awaits_signals(group: Resource) -> tuple[str, bool]:
    """The attribute with which CloudFormation waits for a signal of each host, and whether it fails without any.

    The attribute is empty where CloudFormation does not wait.
    """
    signal = Section(group.creation_policy, group.origin, (_CREATION,), []).section("ResourceSignal")
    update = Section(group.update_policy, group.origin, (_UPDATE,), []).section("AutoScalingRollingUpdate")
    count = given(signal.integer("Count"), 1) if signal.keys else 0
    if isinstance(count, int) and count > 0:
        return _CREATION, True
    needed = given(update.integer("MinSuccessfulInstancesPercent"), 100)
    is_waiting = update.flag("WaitOnResourceSignals") is True
    return _UPDATE if is_waiting else "", isinstance(needed, int) and needed > 0


def _separate_hooks(context: Context) -> dict[Reference | None, list[Resource]]:
    named = ((each, each.properties.get("AutoScalingGroupName")) for each in context.index.all(_HOOK))
    return grouped((context.index.reference(name, _GROUP, each.origin.place), each) for each, name in named)

"""Updates of hosts that run: does a deploy reach them, does it end, and do their tasks live through it?"""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, HostAction, Pool, PoolKind, UpdateMethod, Workload
from gpu_constructs.hardware.aws_limits import MAX_PERCENT
from gpu_constructs.rules.change import either
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error, info, warning
from gpu_constructs.rules.words import Text, Word

_POLICY = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html"
_PREFERENCES = "https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_RefreshPreferences.html"
_REFRESH = "AutoScalingInstanceRefresh"


@warning(
    "GPU220",
    question="does the Auto Scaling group of a capacity provider stay when its hosts change?",
    because="a capacity provider keeps its group for life, so that a replaced group replaces the provider, and ECS "
    "refuses to take a provider from its cluster while a service uses it",
    source="https://github.com/aws/containers-roadmap/issues/631",
)
def keeps_its_group(pool: Pool) -> Problems:
    update = pool.group.update
    if update is not None and update.method is UpdateMethod.REPLACING and pool.has_provider:
        yield Problem(
            property_name="AutoScalingReplacingUpdate",
            message="WillReplace makes a new Auto Scaling group for every change of its hosts, and so a new capacity "
            'provider: the deploy ends with "the specified capacity provider is in use" if a service uses the old '
            "one",
            fix=f"{_REFRESH}, which replaces the hosts and keeps the group",
        )


@error(
    "GPU221",
    question="can a rolling update take a host out of service?",
    because="CloudFormation ends the update with \"MinInstancesInService must be less than the autoscaling group's "
    'MaxSize"',
    source="https://github.com/awsdocs/aws-cloudformation-user-guide/pull/164",
)
def takes_a_host_out(pool: Pool) -> Problems:
    update, most = pool.group.update, pool.max_instances
    if update is None or update.method is not UpdateMethod.ROLLING or not isinstance(most, int):
        return
    least = update.min_in_service
    if isinstance(least, int) and least >= most > 0:
        yield Problem(
            property_name="MinInstancesInService",
            value=least,
            message=f"MinInstancesInService is {least} and MaxSize is {most}",
            allowed=f"0 to {most - 1}",
            fix="lower MinInstancesInService, or raise MaxSize",
            ways=either(
                (
                    f"lower MinInstancesInService to {most - 1}",
                    replace(pool, group=replace(pool.group, update=replace(update, min_in_service=most - 1))),
                ),
                (f"raise MaxSize to {least + 1}", replace(pool, max_instances=least + 1)),
            ),
        )


@error(
    "GPU306",
    question="does every host send the signal that CloudFormation waits for?",
    because="with a ResourceSignal, or WaitOnResourceSignals in an update, CloudFormation waits for a signal of each "
    "host; the deploy fails after the timeout and is rolled back if nothing sends it",
    softer="where only an update of the group waits",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-creationpolicy.html",
    changes="UserData",
)
def sends_signals(pool: Pool) -> Problems:
    waits = pool.group.awaits_signals
    if waits and pool.has_image_of_aws and HostAction.SIGNALS in pool.user_data.actions_never_taken:
        yield Problem(
            message=f"CloudFormation waits for a signal of the hosts of {pool.name} ({waits}), and their user data "
            "sends none",
            fix=f"cfn-signal at the end of the user data, or leave the signals out of {waits}",
            property_name="UserData",
            is_certain=waits == "CreationPolicy",
        )


@warning(
    "GPU222",
    question="does an instance refresh replace hosts that are protected from scale-in?",
    because="by default the refresh waits an hour for the protection to be removed, and then fails",
    source=_PREFERENCES,
    changes="UpdatePolicy.AutoScalingInstanceRefresh.Preferences.ScaleInProtectedInstances",
)
def replaces_protected(pool: Pool) -> Problems:
    update = pool.group.update
    if (
        update is not None
        and update.method is UpdateMethod.INSTANCE_REFRESH
        and update.replaces_protected is False
        and (pool.managed_termination_protection is True or pool.group.scale_in_protection is True)
    ):
        yield Problem(
            property_name="ScaleInProtectedInstances",
            message="the hosts are protected from scale-in, and the instance refresh waits an hour for the "
            "protection to be removed, and fails",
            allowed="Refresh, or Ignore to leave them as they are",
            fix="ScaleInProtectedInstances Refresh; managed draining still lets their tasks move first",
        )


@warning(
    "GPU223",
    question="is there a reserved host for each host that an instance refresh launches before it ends an old one?",
    because="hosts of a reservation start nowhere else, so no new host starts before an old one has ended",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-ec2-capacity-reservations.html",
    changes="UpdatePolicy.AutoScalingInstanceRefresh.Preferences.MinHealthyPercentage",
)
def has_one_to_launch_first(pool: Pool) -> Problems:
    update, reservation = pool.group.update, pool.bought.reservation
    if update is None or update.method is not UpdateMethod.INSTANCE_REFRESH or reservation is None:
        return
    reserved, most = reservation.instances, pool.max_instances
    if pool.bought.option not in BOUGHT_IN_ADVANCE or not isinstance(reserved, int) or not isinstance(most, int):
        return
    if update.min_healthy_percent == MAX_PERCENT and most >= reserved:
        yield Problem(
            property_name="MinHealthyPercentage",
            value=update.min_healthy_percent,
            message=f"the instance refresh launches a host before it ends one, and all {reserved} reserved hosts may "
            "be in use",
            fix=Text(
                Word("a lower MinHealthyPercentage with MaxHealthyPercentage 100"), ", or a lower ", Word("MaxSize")
            ),
        )


@warning(
    "GPU224",
    question="is scaling suspended during a rolling update?",
    because="a scaling action in the middle of a rolling update can make it fail; managed scaling acts through alarms",
    source="https://aws.amazon.com/premiumsupport/knowledge-center/auto-scaling-group-rolling-updates/",
    changes="UpdatePolicy.AutoScalingRollingUpdate.SuspendProcesses",
)
def stands_still(pool: Pool) -> Problems:
    update = pool.group.update
    if (
        update is not None
        and update.method is UpdateMethod.ROLLING
        and pool.is_scaled_by_ecs
        and all(isinstance(each, str) and each != "AlarmNotification" for each in update.suspended)
    ):
        yield Problem(
            property_name="SuspendProcesses",
            message="ECS managed scaling changes the size of the group while CloudFormation replaces its hosts, which "
            "can make the update fail",
            fix=f"AlarmNotification in SuspendProcesses, or {_REFRESH}, which needs no suspended process",
        )


@info(
    "GPU225",
    question="does a change reach the hosts that always run?",
    because="without an update policy, CloudFormation changes what later hosts are made from; running hosts keep their "
    "image, their type and their user data until they leave, and those of MinSize never leave",
    source=_POLICY,
)
def reaches_all(pool: Pool) -> Problems:
    least = pool.min_instances
    if (
        pool.kind is PoolKind.AUTO_SCALING_GROUP
        and pool.group.name is not None
        and pool.group.update is None
        and isinstance(least, int)
        and least > 0
    ):
        hosts = "1 host always runs" if least == 1 else f"{least} hosts always run"
        yield Problem(
            property_name="MinSize",
            value=least,
            message=f"{hosts}, and no deploy brings a new image or a new type to them",
            fix=f"{_REFRESH} in the UpdatePolicy of the group",
        )


@warning(
    "GPU226",
    question="are there hosts for a service when it is created?",
    because="a service is stable when its tasks run, and no host of a Capacity Block starts before the block; "
    "CloudFormation waits three hours at most, and tasks that wait do not trigger the circuit breaker",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html",
)
def has_hosts_when_created(workload: Workload) -> Problems:
    blocks = [None if each.pool is None else each.pool.bought.block for each in workload.strategy]
    starts = {None if each is None else each.starts for each in blocks}
    count = workload.desired_count
    if not workload.is_service or not starts or None in starts or not isinstance(count, int) or count < 1:
        return
    known = sorted(each for each in starts if isinstance(each, str))
    yield Problem(
        property_name="DesiredCount",
        value=count,
        message="all hosts of the service are in a Capacity Block"
        + (f" that begins at {and_list(known)}" if known else "")
        + ": a deploy before that waits for tasks that no host takes, and fails",
        allowed="0 until the block begins",
        fix="DesiredCount 0 now, and the number of tasks in a deploy after the beginning",
    )


@warning(
    "GPU227",
    question="do tasks leave a host before an update ends it?",
    because="without managed draining, ECS does not know that a host is about to end, and its tasks end with it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instance-draining.html",
)
def drained(pool: Pool) -> Problems:
    if pool.group.update is not None and pool.has_provider and pool.managed_draining is False:
        yield Problem(
            property_name="ManagedDraining",
            message=f"managed draining is off, and {pool.group.update.method} ends hosts with their tasks, unless a "
            "lifecycle hook of your own drains them",
            fix="ManagedDraining ENABLED",
        )

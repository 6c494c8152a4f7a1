"""Updates of hosts that run: does a deploy reach them, does it end, and do their tasks live through it?"""

from __future__ import annotations

from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, Pool, UpdateMethod, Workload
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word, and_list

_REFRESH = "AutoScalingInstanceRefresh"


@error(
    "GPU220",
    question="does the Auto Scaling group of a capacity provider stay when its hosts change?",
    because="a capacity provider keeps its group for life, so that a replaced group replaces the provider, and ECS "
    "refuses to take a provider from its cluster while a service uses it",
    softer="where no service of these files uses it",
    source="https://github.com/aws/containers-roadmap/issues/631",
)
def keeps_its_group(context: Context) -> Problems:
    used = {id(each.pool) for workload in context.fleet.workloads if workload.is_service for each in workload.strategy}
    for pool in context.fleet.pools:
        update = pool.group.update
        if update is not None and update.method is UpdateMethod.REPLACING and pool.has_provider:
            is_used = id(pool) in used and pool.associated is True
            yield Problem(
                about=pool,
                property_name="AutoScalingReplacingUpdate",
                message="WillReplace makes a new Auto Scaling group for every change of its hosts, and so a new "
                'capacity provider: the deploy ends with "the specified capacity provider is in use"'
                f"{', because' if is_used else ' if'} a service uses the old one",
                fix=f"{_REFRESH}, which replaces the hosts and keeps the group",
                is_certain=is_used,
            )


@error(
    "GPU221",
    question="can a rolling update replace the hosts?",
    because="CloudFormation ends the update with \"MinInstancesInService must be less than the autoscaling group's "
    'MaxSize"; and a scaling action in the middle of an update, such as managed scaling makes through alarms, can make '
    "it fail",
    softer="where scaling is not suspended meanwhile",
    source="https://github.com/awsdocs/aws-cloudformation-user-guide/pull/164",
)
def may_roll(pool: Pool) -> Problems:
    update, most = pool.group.update, pool.max_instances
    if update is None or update.method is not UpdateMethod.ROLLING:
        return
    least = update.min_in_service
    if isinstance(least, int) and isinstance(most, int) and least >= most > 0:
        yield Problem(
            property_name="MinInstancesInService",
            message=f"MinInstancesInService is {least} and MaxSize is {most}",
            fix=f"lower MinInstancesInService to {most - 1}, or raise MaxSize",
        )
    if pool.is_scaled_by_ecs and all(
        isinstance(each, str) and each != "AlarmNotification" for each in update.suspended
    ):
        yield Problem(
            property_name="SuspendProcesses",
            changes="UpdatePolicy.AutoScalingRollingUpdate.SuspendProcesses",
            message="ECS managed scaling changes the size of the group while CloudFormation replaces its hosts, which "
            "can make the update fail",
            fix=f"AlarmNotification in SuspendProcesses, or {_REFRESH}, which needs no suspended process",
            is_certain=False,
        )


@warning(
    "GPU222",
    question="can an instance refresh replace the hosts?",
    because="by default the refresh waits an hour for scale-in protection to be removed, and then fails; and where all "
    "hosts of a reservation are in use, no new host starts before an old one has ended",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_RefreshPreferences.html",
)
def may_be_refreshed(pool: Pool) -> Problems:
    update, reservation = pool.group.update, pool.bought.reservation
    if update is None or update.method is not UpdateMethod.INSTANCE_REFRESH:
        return
    is_protected = pool.managed_termination_protection is True or pool.group.scale_in_protection is True
    if update.replaces_protected is False and is_protected:
        yield Problem(
            property_name="ScaleInProtectedInstances",
            changes="UpdatePolicy.AutoScalingInstanceRefresh.Preferences.ScaleInProtectedInstances",
            message="the hosts are protected from scale-in, and the instance refresh waits an hour for the "
            "protection to be removed, and fails",
            allowed="Refresh, or Ignore to leave them as they are",
            fix="ScaleInProtectedInstances Refresh; managed draining still lets their tasks move first",
        )
    reserved, most = None if reservation is None else reservation.instances, pool.max_instances
    if pool.bought.option not in BOUGHT_IN_ADVANCE or not isinstance(reserved, int) or not isinstance(most, int):
        return
    if update.min_healthy_percent == MAX_PERCENT and most >= reserved:
        yield Problem(
            property_name="MinHealthyPercentage",
            changes="UpdatePolicy.AutoScalingInstanceRefresh.Preferences.MinHealthyPercentage",
            value=update.min_healthy_percent,
            message=f"the instance refresh launches a host before it ends one, and all {reserved} reserved hosts may "
            "be in use",
            fix=Text(
                Word("a lower MinHealthyPercentage with MaxHealthyPercentage 100"), ", or a lower ", Word("MaxSize")
            ),
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
        message="all hosts of the service are in a Capacity Block"
        + (f" that begins at {and_list(known)}" if known else "")
        + ": a deploy before that waits for tasks that no host takes, and fails",
        fix="DesiredCount 0 now, and the number of tasks in a deploy after the beginning",
    )

"""Auto Scaling groups: does a warm pool keep hosts until they are needed, and does an update reach those that run?"""

from __future__ import annotations

from gpu_constructs.errors import shown
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, PARTLY_SPOT, Pool, PurchaseOption, UpdateMethod, Workload
from gpu_constructs.rules.finding import Text, Word, and_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_CHECK = "ECS_WARM_POOLS_CHECK"
_ON = frozenset({"true", "1", "t"})


@error(
    "GPU170",
    question="do EC2 Auto Scaling and ECS support the warm pool?",
    because="PutWarmPool refuses a group that requests Spot Instances, as it did in a deploy of 2026-09-09, EC2 "
    "hibernates no type with accelerators, ECS supports no warm pool that takes hosts back on scale-in, and hosts of a "
    "Capacity Block start and end with it",
    softer="for hosts that are taken back, and beside a Capacity Block",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html",
)
def is_supported(pool: Pool) -> Problems:
    warm, policy = pool.group.warm_pool, pool.bought.distribution
    if warm is None:
        return
    # A policy that is all On-Demand over a launch template that requests Spot is refused for that alone (GPU160).
    if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        # https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html
        yield Problem(
            property_name="WarmPool",
            message="the hosts run in a Capacity Block, and a warm pool starts hosts outside the schedule of the block",
            fix="remove the warm pool",
            is_certain=False,
        )
    is_of_template = policy is not None and policy.on_demand_percentage == MAX_PERCENT
    if pool.bought.option in PARTLY_SPOT and not is_of_template:
        yield Problem(
            property_name="WarmPool",
            value=pool.bought.option,
            message="PutWarmPool refuses a group that requests Spot Instances, and these hosts are "
            f"{pool.bought.option}",
            allowed="On-Demand hosts, of one type or several",
            fix=Text("remove ", Word("the warm pool"), ", or move it to an On-Demand group"),
        )
    never = [each.name for each in pool.instance_types if each.accelerators is not None]
    if warm.state == "Hibernated" and never:
        yield Problem(
            property_name="PoolState",
            value=warm.state,
            message=f"the hosts of the warm pool hibernate, and EC2 does not hibernate {and_list(never)}",
            allowed="Stopped or Running",
            fix="Stopped",
        )
    if warm.reuse_on_scale_in is True:
        yield Problem(
            property_name="ReuseOnScaleIn",
            value=True,
            message="hosts return to the warm pool on scale-in, which ECS does not support",
            fix="remove ReuseOnScaleIn",
            is_certain=False,
        )


@warning(
    "GPU171",
    question="do the hosts of a warm pool wait before they join the cluster?",
    because="without ECS_WARM_POOLS_CHECK the agent registers its host while it is prepared; the host gets tasks and "
    "is stopped with them; Bottlerocket has no such setting (github.com/bottlerocket-os/bottlerocket/issues/4888)",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-warm-pool.html",
    changes="UserData",
)
def wait(pool: Pool) -> Problems:
    if pool.group.warm_pool is None:
        return
    if pool.operating_system is OperatingSystem.BOTTLEROCKET:
        yield Problem(
            property_name="WarmPool",
            message="the hosts join the cluster while they are prepared, because Bottlerocket has no setting that "
            "makes the agent wait (github.com/bottlerocket-os/bottlerocket/issues/4888)",
            allowed="Amazon Linux",
            fix=Text("use an Amazon Linux image, or remove ", Word("the warm pool")),
        )
    elif _certainly_joins_early(pool):
        written = pool.user_data.get(_CHECK)
        yield Problem(
            property_name=_CHECK,
            value=written,
            message=f"the hosts join the cluster while they are prepared, because {_CHECK} is "
            f"{'not set' if written is None else shown(written)}",
            fix=f"{_CHECK}=true in /etc/ecs/ecs.config",
        )


def _certainly_joins_early(pool: Pool) -> bool:
    """Whether the agent does not wait; a custom image may set what the user data does not."""
    written = pool.user_data.get(_CHECK)
    return written.strip().lower() not in _ON if isinstance(written, str) else pool.never_sets(_CHECK)


_REFRESH = "AutoScalingInstanceRefresh"


@warning(
    "GPU220",
    question="does the Auto Scaling group of a capacity provider stay when its hosts change?",
    because="a capacity provider keeps its group for life, so that a replaced group replaces the provider, and ECS "
    "refuses to take a provider from its cluster while a service uses it; only a later deploy meets that",
    source="https://github.com/aws/containers-roadmap/issues/631",
)
def keeps_its_group(pool: Pool) -> Problems:
    update = pool.group.update
    if update is not None and update.method is UpdateMethod.REPLACING and pool.has_provider:
        yield Problem(
            property_name="AutoScalingReplacingUpdate",
            message="WillReplace makes a new Auto Scaling group for every change of its hosts, and so a new "
            'capacity provider: a later deploy ends with "the specified capacity provider is in use" if a service '
            "uses the old one",
            fix=f"{_REFRESH}, which replaces the hosts and keeps the group",
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
            message=Text(f"MinInstancesInService is {least} and ", Word("MaxSize"), f" is {most}"),
            fix=Text(f"lower MinInstancesInService to {most - 1}, or raise ", Word("MaxSize")),
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

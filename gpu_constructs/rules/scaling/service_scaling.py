"""Service auto scaling: may the number of copies change, in both directions, and stay changed?"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.fleet import STEPS_IN_PERCENT, Unknown, Workload
from gpu_constructs.rules.rule import Context, Problem, Problems, warning

_BY_QUEUE = "a step scaling policy by numbers of copies on a queue, which has messages without copies as well"
_REQUESTS = "ALBRequestCountPerTarget"
_OF_RUNNING_TASKS = frozenset(
    {_REQUESTS, STEPS_IN_PERCENT, "ECSServiceAverageCPUUtilization", "ECSServiceAverageMemoryUtilization"}
)
_GROUP, _POLICY = "AWS::AutoScaling::AutoScalingGroup", "AWS::AutoScaling::ScalingPolicy"


@warning(
    "GPU210",
    question="does a deployment leave the numbers of copies and hosts to what scales them?",
    because="CloudFormation sets DesiredCount and DesiredCapacity again whenever it updates the service or the group, "
    "which starts copies and hosts that nothing asked for or ends hosts with tasks; where none is written, it leaves "
    "the number as it is, and starts a new service with one copy; and a group with a scaling policy of its own may get "
    "none from managed scaling (containers-roadmap issue 1689)",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html",
)
def numbers_are_left(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        count = workload.desired_count
        if workload.scaling is not None and not isinstance(count, Unknown):
            yield Problem(
                about=workload,
                property_name="DesiredCount",
                value=count,
                message="service auto scaling sets the number of copies, and every update of the service sets it to "
                f"{count} again",
                fix="remove DesiredCount",
            )
    for pool in context.fleet.pools:
        desired = pool.group.desired_instances
        if pool.is_scaled_by_ecs and isinstance(desired, int) and pool.min_instances != pool.max_instances:
            yield Problem(
                about=pool,
                property_name="DesiredCapacity",
                value=desired,
                message=f"managed scaling moves the size of {pool.name}, and each deployment that changes the group "
                f"sets it to {desired} again",
                fix="leave DesiredCapacity out; MinSize keeps hosts that should always run",
            )
    yield from _scaled_twice(context)


def _scaled_twice(context: Context) -> Problems:
    """Groups with managed scaling and a policy of their own."""
    policies = tuple(context.index.all(_POLICY))
    pools = context.fleet.pools if policies else ()
    groups = {found.reference: pool for pool in pools if (found := context.group(pool)) is not None}
    for policy in policies:
        group = context.index.find(policy.properties.get("AutoScalingGroupName"), _GROUP, policy.origin.place)
        pool = None if group is None else groups.get(group.reference)
        forecast = policy.properties.get("PredictiveScalingConfiguration")
        only_shows = forecast is not None and (
            not isinstance(forecast, Mapping) or forecast.get("Mode") != "ForecastAndScale"
        )
        if pool is not None and pool.is_scaled_by_ecs and not only_shows and policy.exists is True:
            yield Problem(
                about=pool,
                property_name="AutoScalingGroupName",
                message=f"{policy.logical_id} scales the group of {pool.name} beside managed scaling: each undoes what "
                "the other does, or ECS makes no policy of its own and starts no hosts",
                fix="leave the policy out, or turn managed scaling off",
                origin=policy.origin,
            )


@warning(
    "GPU211",
    question="does something start the first copy of a service that may have none?",
    because="requests per target, CPU and memory are measured on running copies: with none there is no metric, no "
    "alarm and no scaling, and a step in percent of zero copies adds none; a load balancer answers 503 "
    "until one is started by hand",
    source="https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html",
)
def woken(workload: Workload) -> Problems:
    followed = () if workload.scaling is None else workload.scaling.by
    if workload.scaling is not None and workload.min_count == 0 and followed and _OF_RUNNING_TASKS.issuperset(followed):
        yield Problem(
            property_name="MinCapacity",
            value=0,
            message="the service may be scaled in to no copies, and nothing scales it out again: "
            f"{', '.join(dict.fromkeys(map(str, followed)))} comes to nothing without copies",
            allowed="1 or more",
            fix=f"a MinCapacity of 1, or {_BY_QUEUE}",
        )


@warning(
    "GPU213",
    question="does the target group whose requests are counted keep getting them?",
    because="a blue/green, linear or canary deployment moves requests to the other target group, and a policy on "
    f"{_REQUESTS} counts those of one",
    source="https://github.com/aws/containers-roadmap/issues/1681",
)
def counted_after_a_deployment(workload: Workload) -> Problems:
    if workload.runs_twice_to_deploy and workload.scaling is not None and _REQUESTS in workload.scaling.by:
        yield Problem(
            property_name="Strategy",
            value=workload.deployment_strategy,
            message=f"the service is scaled by {_REQUESTS} of one target group, and each deployment moves its "
            "requests to the other",
            fix="replace tasks one after the other with ROLLING, or track a metric of both target groups",
        )

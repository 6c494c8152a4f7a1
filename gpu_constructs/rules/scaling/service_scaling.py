"""Service auto scaling: may the number of copies change, in both directions, and stay changed?"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from gpu_constructs.budget import brief
from gpu_constructs.fleet import STEPS_IN_PERCENT, ServiceScaling, Unknown, Workload
from gpu_constructs.rules.change import Way, either, one_way
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word

_Range: TypeAlias = tuple[int | Unknown | None, int | Unknown | None]
_BY_QUEUE = "a step scaling policy by numbers of copies on a queue, which has messages without copies as well"
_REQUESTS = "ALBRequestCountPerTarget"
_OF_RUNNING_TASKS = frozenset(
    {_REQUESTS, STEPS_IN_PERCENT, "ECSServiceAverageCPUUtilization", "ECSServiceAverageMemoryUtilization"}
)
# MetricType of the API, those of ECS.
_METRICS = frozenset(
    {
        _REQUESTS,
        "ECSServiceAverageCPUUtilization",
        "ECSServiceAverageCPUUtilizationHighResolution",
        "ECSServiceAverageMemoryUtilization",
        "ECSServiceAverageMemoryUtilizationHighResolution",
    }
)
_API = "https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html"


@warning(
    "GPU210",
    question="does a deployment leave the number of copies to what scales the service?",
    because="CloudFormation sets DesiredCount again whenever it updates the service; where none is written, it leaves "
    "the number as it is, and starts a new service with one copy",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html",
)
def count_is_left(workload: Workload) -> Problems:
    desired = workload.desired_count
    if workload.scaling is None or isinstance(desired, Unknown):
        return
    yield Problem(
        property_name="DesiredCount",
        value=desired,
        message=f"service auto scaling sets the number of copies, and every update of the service sets it to {desired} "
        "again",
        fix="remove DesiredCount",
    )


@warning(
    "GPU211",
    question="does something start the first copy of a service that may have none?",
    because="requests per target, CPU and memory are measured on running copies: with none there is no metric, no "
    "alarm and no scaling, and a step in percent of zero copies adds none; a load balancer answers 503 "
    "until one is started by hand",
    source=_API,
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
            fix=_BY_QUEUE,
            ways=(
                *one_way("a MinCapacity of 1", replace(workload, scaling=replace(workload.scaling, least=1))),
                (Way(text=_BY_QUEUE),),
            ),
        )


@error(
    "GPU281",
    question="does service auto scaling have the predefined metric?",
    because="Application Auto Scaling refuses a policy with a predefined metric that services do not have; there is "
    "none of GPUs",
    source="https://docs.aws.amazon.com/autoscaling/application/APIReference/API_PredefinedMetricSpecification.html",
)
def metric_exists(workload: Workload) -> Problems:
    for metric, origin in () if workload.scaling is None else workload.scaling.metrics:
        if metric not in _METRICS:
            yield Problem(
                property_name="PredefinedMetricType",
                value=metric,
                allowed=", ".join(sorted(_METRICS)),
                message=f"{workload.name} is scaled by the predefined metric {brief(metric)}, which no service has",
                fix="ECSServiceAverageCPUUtilization, or a customized metric, such as one of GPUs that hosts send",
                origin=origin,
            )


@error(
    "GPU315",
    question="does the scalable target of a service name the cluster and the service?",
    because="the ResourceId of a service is service/, the name of the cluster, a slash and the name of the service; "
    "Application Auto Scaling refuses one without the cluster, and one with ARNs",
    source=_API,
)
def names_cluster(workload: Workload) -> Problems:
    for origin in () if workload.scaling is None else workload.scaling.misnamed:
        yield Problem(
            property_name="ResourceId",
            allowed="service/ClusterName/ServiceName",
            message=f"the ResourceId of the scalable target of {workload.name} does not name its cluster and itself",
            fix="service/ClusterName/ServiceName",
            origin=origin,
        )


@error(
    "GPU212",
    question="is MinCapacity at most MaxCapacity?",
    because="Application Auto Scaling takes no range whose minimum is above its maximum",
    softer="for a scheduled action, which sets one or both when it runs",
    source=_API,
)
def range_in_order(workload: Workload) -> Problems:
    if workload.scaling is None:
        return
    scaling = workload.scaling
    low, high = scaling.least, scaling.most
    if isinstance(low, int) and isinstance(high, int) and low > high >= 0:
        yield Problem(
            property_name="MinCapacity",
            value=low,
            message=Text(Word("MinCapacity"), f" is {low} and ", Word("MaxCapacity"), f" is {high}"),
            one_value=True,
            allowed=f"0 to {high}",
            fix=Text("a higher ", Word("MaxCapacity"), ", or a lower ", Word("MinCapacity")),
            ways=either(
                (Text("a ", Word("MaxCapacity"), f" of {low}"), replace(workload, scaling=replace(scaling, most=low))),
                (
                    Text("a ", Word("MinCapacity"), f" of {high}"),
                    replace(workload, scaling=replace(scaling, least=high)),
                ),
            ),
        )
    for least, most in scaling.scheduled:
        first, last = low if least is None else least, high if most is None else most
        if (least, most) != (None, None) and isinstance(first, int) and isinstance(last, int) and first > last >= 0:
            yield Problem(
                property_name="ScheduledActions.ScalableTargetAction",
                value=first,
                message=f"a scheduled action makes MinCapacity {first} and MaxCapacity {last}",
                fix="a MaxCapacity in the same action, or a lower MinCapacity",
                ways=either(
                    (
                        f"a MaxCapacity of {first} in the same action",
                        _scheduled(workload, scaling, (least, most), (least, first)),
                    ),
                    (f"a MinCapacity of {last}", _scheduled(workload, scaling, (least, most), (last, most))),
                ),
                is_certain=False,
            )


def _scheduled(workload: Workload, scaling: ServiceScaling, old: _Range, new: _Range) -> Workload:
    """The workload with another scheduled action in the place of one."""
    actions = tuple(new if each == old else each for each in scaling.scheduled)
    return replace(workload, scaling=replace(scaling, scheduled=actions))


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

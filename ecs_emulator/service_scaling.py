"""Service auto scaling: how the desired count of a service follows the alarms of its step scaling policies.

moto 5.2.5 keeps targets and policies and makes neither from a template. Each minute the alarms are evaluated as
`step_scaling` does it, with the messages that the account's queues have. Not modelled: target tracking,
since no request and no GPU is measured here; its policies exist and move nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    FakeApplicationAutoscalingPolicy,
    applicationautoscaling_backends,
)
from moto.cloudwatch.models import cloudwatch_backends
from moto.ecs.models import ecs_backends
from moto.sqs.models import sqs_backends

from .resource import Properties, Region, Resource
from .step_scaling import Minute, Scaled

if TYPE_CHECKING:
    from .services import EmulatedService

__all__ = ["ScalableTarget", "ScalingPolicy", "follow_alarms"]

_DIMENSION = "ecs:service:DesiredCount"


def _scaling(region: Region) -> ApplicationAutoscalingBackend:
    backend = applicationautoscaling_backends[region.account_id][region.name]
    assert isinstance(backend, ApplicationAutoscalingBackend)
    return backend


class ScalableTarget(Resource):
    """The bounds of a number."""

    type_name = "AWS::ApplicationAutoScaling::ScalableTarget"
    attribute_names = frozenset({"Id"})
    create_only = frozenset({"ResourceId", "ScalableDimension", "ServiceNamespace"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ScalableTarget:
        place = [properties[each] for each in ("ResourceId", "ScalableDimension", "ServiceNamespace")]
        made = cls("|".join(place), {"Id": "|".join(place)})
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        resource, dimension, namespace = self.physical_resource_id.split("|")
        least, most = int(properties["MinCapacity"]), int(properties["MaxCapacity"])
        if least > most:
            raise ValueError("Maximum capacity cannot be less than minimum capacity")
        target = _scaling(region).register_scalable_target(
            namespace,
            resource,
            dimension,
            least,
            most,
            properties.get("RoleARN", ""),
            None,  # type: ignore[arg-type] # nothing is suspended
        )
        target.scaled = Scaled({})  # type: ignore[attr-defined] # what happened so far lives with what it happened to
        # The count is in the range as soon as the range is registered.
        _, cluster, name = resource.split("/")
        services, _ = ecs_backends[region.account_id][region.name].describe_services(cluster, [name])
        services[0].desired_count = min(max(services[0].desired_count, least), most)

    def remove(self, region: Region) -> None:
        resource, dimension, namespace = self.physical_resource_id.split("|")
        _scaling(region).deregister_scalable_target(namespace, resource, dimension)


class ScalingPolicy(Resource):
    """What moves a number."""

    type_name = "AWS::ApplicationAutoScaling::ScalingPolicy"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"PolicyName", "ResourceId", "ScalableDimension", "ScalingTargetId", "ServiceNamespace"})
    KINDS: ClassVar[dict[str, str]] = {
        "StepScaling": "StepScalingPolicyConfiguration",
        "TargetTrackingScaling": "TargetTrackingScalingPolicyConfiguration",
    }

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ScalingPolicy:
        arn = str(cls._put(region, properties).policy_arn)
        return cls(arn, {"Arn": arn})

    def update(self, region: Region, properties: Properties) -> None:
        # moto makes another one, AWS keeps it.
        self._put(region, properties).policy_arn = self.physical_resource_id

    def remove(self, region: Region) -> None:
        policies = _scaling(region).policies.values()
        (policy,) = [each for each in policies if each.policy_arn == self.physical_resource_id]
        place = policy.service_namespace, policy.resource_id, policy.scalable_dimension
        _scaling(region).delete_scaling_policy(policy.policy_name, *place)

    @classmethod
    def _put(cls, region: Region, properties: Properties) -> FakeApplicationAutoscalingPolicy:
        resource, dimension, namespace = properties["ScalingTargetId"].split("|")
        if resource not in _scaling(region).targets.get(dimension, {}):
            raise ValueError(f"No scalable target registered for {resource}")
        kind = properties["PolicyType"]
        body = properties[cls.KINDS[kind]]
        return _scaling(region).put_scaling_policy(properties["PolicyName"], namespace, resource, dimension, body, kind)


def follow_alarms(region: Region, service: EmulatedService) -> None:
    """Change the desired count of a service as its alarms ask for it; called once a minute."""
    backend, place = _scaling(region), f"service/{service.cluster_name}/{service.name}"
    target = backend.targets.get(_DIMENSION, {}).get(place)
    if target is None:
        return
    policies = [each for each in backend.policies.values() if each.resource_id == place]
    scaled: Scaled = target.scaled  # type: ignore[attr-defined]
    alarms = _alarms(region, {each.policy_arn for each in policies})
    bounds = {"MinCapacity": target.min_capacity, "MaxCapacity": target.max_capacity}
    scaled.resources = {
        place: {"Type": ScalableTarget.type_name, "Properties": bounds},
        **{each.policy_arn: {"Type": ScalingPolicy.type_name, "Properties": _properties(each)} for each in policies},
        **{name: {"Type": "AWS::CloudWatch::Alarm", "Properties": each} for name, each in alarms.items()},
    }
    scaled.tasks = service.desired_count
    service.desired_count = scaled.after(_messages(region, alarms))


def _properties(policy: FakeApplicationAutoscalingPolicy) -> Properties:
    return {ScalingPolicy.KINDS[str(policy.policy_type)]: policy._policy_body}


def _alarms(region: Region, policies: set[str]) -> dict[str, Properties]:
    """The alarms that start one of these policies."""
    existing = cloudwatch_backends[region.account_id][region.name].alarms.values()
    found: dict[str, Properties] = {each.name: getattr(each, "properties", {}) for each in existing}
    return {
        name: {**each, "AlarmActions": [{"Ref": arn} for arn in each["AlarmActions"]]}
        for name, each in found.items()
        if policies & set(each.get("AlarmActions", ()))
    }


def _messages(region: Region, alarms: dict[str, Properties]) -> Minute:
    """What SQS sends of the one queue that the alarms look at."""
    named: set[Any] = {
        item["Value"]
        for alarm in alarms.values()
        for query in alarm.get("Metrics", ())
        for item in query.get("MetricStat", {}).get("Metric", {}).get("Dimensions", ())
        if item["Name"] == "QueueName"
    }
    if not named:
        return {}
    (name,) = named
    queue = sqs_backends[region.account_id][region.name].queues[name]
    return {
        "ApproximateNumberOfMessagesVisible": queue.approximate_number_of_messages,
        "ApproximateNumberOfMessagesNotVisible": queue.approximate_number_of_messages_not_visible,
    }

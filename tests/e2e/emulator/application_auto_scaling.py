"""Scalable targets and scaling policies as resources of a stack, which moto 5.2.5 skips.

Not modelled: metrics, which move no alarm here, so no policy ever scales anything. A test does what a policy would with
``ecs.update_service``; tests/serving/auto_scaling.py evaluates policies.
"""

from __future__ import annotations

from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    FakeApplicationAutoscalingPolicy,
    applicationautoscaling_backends,
)
from moto.ecs.models import ecs_backends

from .resource import Properties, Region, Resource

__all__ = ["ScalableTarget", "ScalingPolicy"]

_KEY = ("ServiceNamespace", "ResourceId", "ScalableDimension")


def _scaling(region: Region) -> ApplicationAutoscalingBackend:
    return applicationautoscaling_backends[region.account_id][region.name]


class ScalableTarget(Resource):
    """The count of a service with its range, in which the count is as soon as the range is registered."""

    type_name = "AWS::ApplicationAutoScaling::ScalableTarget"
    create_only = frozenset(_KEY)

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ScalableTarget:
        namespace, resource_id, dimension = (properties[each] for each in _KEY)
        # What Ref gives.
        made = cls(f"{resource_id}|{dimension}|{namespace}")
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        least, most = int(properties["MinCapacity"]), int(properties["MaxCapacity"])
        if least > most:
            raise ValueError("Maximum capacity cannot be less than minimum capacity")
        namespace, resource_id, dimension = (properties[each] for each in _KEY)
        _scaling(region).register_scalable_target(
            namespace, resource_id, dimension, least, most, properties.get("RoleARN", ""), "{}"
        )
        _, cluster, name = resource_id.split("/")
        services, _ = ecs_backends[region.account_id][region.name].describe_services(cluster, [name])
        services[0].desired_count = min(max(services[0].desired_count, least), most)

    def remove(self, region: Region) -> None:
        resource_id, dimension, namespace = self.physical_resource_id.split("|")
        _scaling(region).deregister_scalable_target(namespace, resource_id, dimension)


class ScalingPolicy(Resource):
    """A policy of such a target; one that tracks a metric comes with alarms of its own."""

    type_name = "AWS::ApplicationAutoScaling::ScalingPolicy"
    create_only = frozenset({*_KEY, "PolicyName", "ScalingTargetId"})

    def __init__(self, policy: FakeApplicationAutoscalingPolicy) -> None:
        super().__init__(policy.policy_arn)
        self._policy = policy

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ScalingPolicy:
        resource_id, dimension, namespace = properties["ScalingTargetId"].split("|")
        scaling = _scaling(region)
        if not scaling.describe_scalable_targets(namespace, [resource_id], dimension):
            raise ValueError(f"No scalable target registered for {resource_id}")
        kind = properties["PolicyType"]
        configuration = properties[f"{kind}PolicyConfiguration"]
        return cls(
            scaling.put_scaling_policy(properties["PolicyName"], namespace, resource_id, dimension, configuration, kind)
        )

    def update(self, region: Region, properties: Properties) -> None:
        configuration = properties[f"{properties['PolicyType']}PolicyConfiguration"]
        if properties["PolicyType"] == "StepScaling":
            self._policy.step_scaling_policy_configuration = configuration
        else:
            self._policy.target_tracking_scaling_policy_configuration = configuration

    def remove(self, region: Region) -> None:
        of = self._policy
        _scaling(region).delete_scaling_policy(
            of.policy_name, of.service_namespace, of.resource_id, of.scalable_dimension
        )

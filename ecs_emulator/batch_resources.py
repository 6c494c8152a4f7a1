"""The ``AWS::Batch::*`` types: moto 5.2.5 has no scheduling policies, and half of the others."""

from __future__ import annotations

from typing import cast

from moto.batch.models import batch_backends

from .batch import EmulatedBatch
from .batch_hosts import EmulatedEnvironment
from .resource import Properties, Region, Resource, camel_case

__all__ = ["ComputeEnvironment", "JobDefinition", "JobQueue", "SchedulingPolicy"]


def _batch(region: Region) -> EmulatedBatch:
    return cast("EmulatedBatch", batch_backends[region.account_id][region.name])


class ComputeEnvironment(Resource):
    """``Ref`` gives its ARN. What the resources say is changed in place, if the template does not want a new one."""

    type_name = "AWS::Batch::ComputeEnvironment"
    name_property = "ComputeEnvironmentName"
    attribute_names = frozenset({"ComputeEnvironmentArn"})
    create_only = frozenset({"ComputeEnvironmentName", "Tags", "Type"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ComputeEnvironment:
        made = _batch(region).add_environment(name, camel_case(properties))
        return cls(made.arn, {"ComputeEnvironmentArn": made.arn})

    def update(self, region: Region, properties: Properties) -> None:
        if str(properties.get("ReplaceComputeEnvironment", True)).lower() == "true":
            raise ValueError("the emulator replaces no compute environments")
        environment = _batch(region).get_compute_environment_by_arn(self.physical_resource_id)
        cast("EmulatedEnvironment", environment).change(camel_case(properties))

    def remove(self, region: Region) -> None:
        _batch(region).remove_environment(self.physical_resource_id)


class JobQueue(Resource):
    """``Ref`` gives its ARN."""

    type_name = "AWS::Batch::JobQueue"
    name_property = "JobQueueName"
    attribute_names = frozenset({"JobQueueArn"})
    create_only = frozenset({"JobQueueName", "JobQueueType"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> JobQueue:
        made = _batch(region).create_job_queue(
            name,
            properties["Priority"],
            properties.get("SchedulingPolicyArn"),
            properties.get("State", "ENABLED"),
            camel_case(properties["ComputeEnvironmentOrder"]),
        )
        made.time_limits = camel_case(properties.get("JobStateTimeLimitActions", []))  # type: ignore[attr-defined]
        return cls(made.arn, {"JobQueueArn": made.arn})

    def update(self, region: Region, properties: Properties) -> None:
        queue = _batch(region)._job_queues[self.physical_resource_id]
        _batch(region).update_job_queue(
            queue.name,
            properties["Priority"],
            properties.get("State", "ENABLED"),
            camel_case(properties["ComputeEnvironmentOrder"]),
            properties.get("SchedulingPolicyArn"),
        )
        queue.time_limits = camel_case(properties.get("JobStateTimeLimitActions", []))  # type: ignore[attr-defined]

    def remove(self, region: Region) -> None:
        queue = _batch(region)._job_queues[self.physical_resource_id]
        for each in queue.jobs:
            each.terminate("Job queue deleted")
        _batch(region).delete_job_queue(self.physical_resource_id)


class JobDefinition(Resource):
    """``Ref`` gives the ARN of its revision. Every change registers a new one and deregisters the old one."""

    type_name = "AWS::Batch::JobDefinition"
    name_property = "JobDefinitionName"
    attribute_names = frozenset({"JobDefinitionArn"})
    create_only = frozenset({"JobDefinitionName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> JobDefinition:
        arn = cls._register(region, name, properties)
        return cls(arn, {"JobDefinitionArn": arn})

    @staticmethod
    def _register(region: Region, name: str, properties: Properties) -> str:
        api = camel_case(properties)
        made = _batch(region).register_job_definition(
            def_name=name,
            parameters=api.get("parameters", {}),
            _type=api["type"],
            tags=properties.get("Tags", {}),
            retry_strategy=api.get("retryStrategy", {}),
            container_properties=api.get("containerProperties"),
            node_properties=api.get("nodeProperties"),
            eks_properties=None,
            timeout=api.get("timeout", {}),
            platform_capabilities=api.get("platformCapabilities", []),
            propagate_tags=api.get("propagateTags", False),
        )
        made.scheduling_priority = int(api.get("schedulingPriority", 0))  # type: ignore[attr-defined]
        return str(made.arn)

    def update(self, region: Region, properties: Properties) -> None:
        # moto counts revisions from the newest that it has.
        before = self.physical_resource_id
        name = _batch(region)._job_definitions[before].name
        self.physical_resource_id = self._register(region, name, properties)
        self._attributes = {"JobDefinitionArn": self.physical_resource_id}
        del _batch(region)._job_definitions[before]

    def remove(self, region: Region) -> None:
        del _batch(region)._job_definitions[self.physical_resource_id]


class SchedulingPolicy(Resource):
    """``Ref`` gives its ARN."""

    type_name = "AWS::Batch::SchedulingPolicy"
    name_property = "Name"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"Name"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> SchedulingPolicy:
        shares = camel_case(properties.get("FairsharePolicy") or {})
        made = _batch(region).create_scheduling_policy(name, shares, properties.get("Tags", {}))
        return cls(made.arn, {"Arn": made.arn})

    def update(self, region: Region, properties: Properties) -> None:
        shares = camel_case(properties.get("FairsharePolicy") or {})
        _batch(region).update_scheduling_policy(self.physical_resource_id, shares)

    def remove(self, region: Region) -> None:
        _batch(region).delete_scheduling_policy(self.physical_resource_id)

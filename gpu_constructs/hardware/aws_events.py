"""Which events do ECS and EC2 send to EventBridge, and which texts do their fields have?

Enumerations without a page of their own are those of the API of ECS, such as TaskStopCode.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TASK_STATE = "ECS Task State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html"""
HOST_STATE = "ECS Container Instance State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_container_instance_events.html"""
HOST_HEALTH = "ECS Container Instance Health Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_container_instance_health_events.html"""
SERVICE_ACTION = "ECS Service Action"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_events.html"""
DEPLOYMENT_STATE = "ECS Deployment State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_deployment_events.html"""
ECS_EVENTS = (TASK_STATE, HOST_STATE, SERVICE_ACTION, DEPLOYMENT_STATE, HOST_HEALTH)
"""Types of events of ECS."""

SPOT_WARNING = "EC2 Spot Instance Interruption Warning"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""
REBALANCE_RECOMMENDATION = "EC2 Instance Rebalance Recommendation"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html"""
BLOCK_WARNINGS = ("Capacity Block Expiration Warning", "Capacity Block Reservation Expiration Warning")
"""EC2 sends it 40 minutes before a Capacity Block ends. Editions of its page have one name or the other.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
"""

LOST_HOST = ("InfrastructureHealth", "SpotInterruption", "TerminationNotice")
"""Stop codes of a task whose host is gone: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html"""
NOT_STARTED = "TaskFailedToStart"
"""The stop code of a task that ended before its containers ran."""
PLACEMENT_FAILURE = "SERVICE_TASK_PLACEMENT_FAILURE"
"""The name of a service's event that a task could not be placed."""

# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
_STATES = "PROVISIONING PENDING ACTIVATING RUNNING DEACTIVATING STOPPING DEPROVISIONING STOPPED DELETED"
_TASK_STATES = tuple(_STATES.split())
_EVENT_TYPES = ("ERROR", "INFO", "WARN")

EVENT_VALUES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        (TASK_STATE, "detail.lastStatus"): _TASK_STATES,
        (TASK_STATE, "detail.desiredStatus"): _TASK_STATES,
        (TASK_STATE, "detail.launchType"): ("EC2", "EXTERNAL", "FARGATE", "MANAGED_INSTANCES"),
        (TASK_STATE, "detail.stopCode"): tuple(
            sorted((*LOST_HOST, NOT_STARTED, "EssentialContainerExited", "ServiceSchedulerInitiated", "UserInitiated"))
        ),
        (HOST_STATE, "detail.status"): (
            "ACTIVE",
            "DEREGISTERING",
            "DRAINING",
            "INACTIVE",
            "REGISTERING",
            "REGISTRATION_FAILED",
        ),
        (SERVICE_ACTION, "detail.eventType"): _EVENT_TYPES,
        (DEPLOYMENT_STATE, "detail.eventType"): _EVENT_TYPES,
        (DEPLOYMENT_STATE, "detail.eventName"): (
            "SERVICE_DEPLOYMENT_COMPLETED",
            "SERVICE_DEPLOYMENT_FAILED",
            "SERVICE_DEPLOYMENT_IN_PROGRESS",
        ),
        (HOST_HEALTH, "detail.overallStatus"): ("IMPAIRED", "INITIALIZING", "INSUFFICIENT_DATA", "OK"),
    }
)
"""All texts that a field of an event has, by the type of the event and the path of the field."""

_ACTIONS = f"""
    CAPACITY_PROVIDER_STEADY_STATE ECS_OPERATION_THROTTLED SERVICE_DAEMON_PLACEMENT_CONSTRAINT_VIOLATED
    SERVICE_DEPLOYMENT_COMPLETED SERVICE_DEPLOYMENT_FAILED SERVICE_DEPLOYMENT_IN_PROGRESS SERVICE_DESIRED_COUNT_UPDATED
    SERVICE_DISCOVERY_INSTANCE_UNHEALTHY SERVICE_DISCOVERY_OPERATION_THROTTLED SERVICE_HEALTH_UNKNOWN
    SERVICE_STEADY_STATE SERVICE_TASK_CONFIGURATION_FAILURE {PLACEMENT_FAILURE} SERVICE_TASK_START_IMPAIRED
    TASKSET_STEADY_STATE TASKS_STOPPED VPC_LATTICE_TARGET_UNHEALTHY
"""
EVENT_NAMES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {(SERVICE_ACTION, "detail.eventName"): tuple(_ACTIONS.split())}
)
"""Texts that a field may have, by type and path. ECS may send others, so that only a slip of one of these is wrong."""

_FIELDS = """
    attachments availabilityZone capacityProviderName clusterArn containerInstanceArn containers cpu createdAt
    desiredStatus ec2InstanceId eventName eventType group lastStatus launchType memory overallStatus platformVersion
    reason startedAt startedBy status stopCode stoppedAt stoppedReason stoppingAt taskArn taskDefinitionArn updatedAt
"""
EVENT_FIELDS = tuple(f"detail.{each}" for each in _FIELDS.split())
"""Paths of fields that events of ECS have."""

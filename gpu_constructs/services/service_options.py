"""What services pass on to `ecs.Ec2Service`, under CDK's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.arguments import whole_number, whole_seconds
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import UNKNOWN, Unknown


class ServiceOptions(TypedDict, total=False):
    """Arguments of `ecs.Ec2Service` that `GpuService` and `CpuService` take, and CDK gets as they are given.

    Where this names no default, it is CDK's.

    Attributes:
        assign_public_ip: Whether tasks in network mode ``awsvpc`` get a public address. By default not.
        availability_zone_rebalancing: Whether tasks are moved to even out zones. Those of a `GpuService` are not by
            default, because a task that moves needs a second GPU; those of a `CpuService` are.
        circuit_breaker: What happens to a deployment whose tasks do not start. By default it is rolled back.
        cloud_map_options: A name in Cloud Map: an A or SRV record in network mode ``awsvpc``, else an SRV record. By
            default none.
        deployment_alarms: Alarms that stop a deployment. By default none.
        deployment_controller: What deploys it, for a `GpuService` always ECS. By default ECS, and the template does
            not say so: CloudFormation may replace a service whose controller comes or goes, so one that had ``ECS``
            written out keeps it with this. CDK writes it for a circuit breaker unless the app has its flag
            ``@aws-cdk/aws-ecs:disableExplicitDeploymentControllerForCircuitBreaker``.
        enable_ecs_managed_tags: Whether tasks are tagged with cluster and service. Those of a `GpuService` are by
            default, those of a `CpuService` are not.
        force_new_deployment: Whether tasks are replaced although nothing changed, once for each ``nonce``. A service
            that moves to another capacity needs it where its task definition stays the same: ECS moves no task that
            runs because of a new strategy.
        placement_constraints: Where tasks may be placed, in addition to those of the task definition.
        placement_strategies: How hosts are chosen. A `GpuService` packs its tasks by default, so that hosts become
            empty and leave; a `CpuService` has none.
        propagate_tags: Whose tags tasks get. By default those of a `GpuService` get its own, others none.
        task_definition_revision: Which revision it runs. By default the one of this deploy.
        volume_configurations: An EBS volume for each task. By default none.
    """

    assign_public_ip: bool | None
    availability_zone_rebalancing: ecs.AvailabilityZoneRebalancing | None
    circuit_breaker: ecs.DeploymentCircuitBreaker | None
    cloud_map_options: ecs.CloudMapOptions | None
    deployment_alarms: ecs.DeploymentAlarmConfig | None
    deployment_controller: ecs.DeploymentController | None
    enable_ecs_managed_tags: bool | None
    force_new_deployment: ecs.ForceNewDeployment | None
    placement_constraints: Sequence[ecs.PlacementConstraint] | None
    placement_strategies: Sequence[ecs.PlacementStrategy] | None
    propagate_tags: ecs.PropagatedTagSource | None
    task_definition_revision: ecs.TaskDefinitionRevision | None
    volume_configurations: Sequence[ecs.ServiceManagedVolume] | None


def known_count(
    desired_count: int | None, *, service_name: str | None, health_check_grace_period: cdk.Duration | None
) -> int | Unknown:
    """The tasks of a service as far as their number is known, once its other values are found to be right as well."""
    if service_name is not None:
        require_name("service_name", service_name, fix="leave it out, and CloudFormation makes one")
    if health_check_grace_period is not None:
        whole_seconds("health_check_grace_period", health_check_grace_period)
    if desired_count is None:
        return UNKNOWN
    return whole_number("desired_count", desired_count, smallest=0, unit="tasks", fix="desired_count=1")


def with_defaults(options: ServiceOptions, *, is_managed: bool) -> ServiceOptions:
    """The options of a service, with the library's defaults for those that were not given.

    ECS Managed Instances "does not support task placement strategies"
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html).
    """
    controller = options.get("deployment_controller")
    kind = controller.get("type") if isinstance(controller, dict) else getattr(controller, "type", None)
    if kind not in {None, ecs.DeploymentControllerType.ECS}:
        raise IncompatibleError(
            "a GPU service is deployed by ECS itself",
            argument="deployment_controller",
            value=kind,
            allowed="ecs.DeploymentControllerType.ECS",
            fix="an ecs.Ec2Service with capacity_provider_strategies=[capacity.strategy()]",
        )
    strategies = None if is_managed else [ecs.PlacementStrategy.packed_by_memory()]
    # With rebalancing, tasks are spread evenly over zones first.
    if strategies and options.get("availability_zone_rebalancing") is ecs.AvailabilityZoneRebalancing.ENABLED:
        strategies.insert(0, ecs.PlacementStrategy.spread_across(ecs.BuiltInAttributes.AVAILABILITY_ZONE))
    defaults: ServiceOptions = {
        "availability_zone_rebalancing": ecs.AvailabilityZoneRebalancing.DISABLED,
        "circuit_breaker": ecs.DeploymentCircuitBreaker(rollback=True),
        "enable_ecs_managed_tags": True,
        "placement_strategies": strategies,
        "propagate_tags": ecs.PropagatedTagSource.SERVICE,
    }
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return cast("ServiceOptions", {**defaults, **{name: value for name, value in given.items() if value is not None}})


def write_past_cdk(
    resource: ecs.CfnService, options: ServiceOptions, *, is_managed: bool, writes_controller: bool
) -> None:
    """Writes what CDK writes in another way where nothing was given."""
    if writes_controller and options.get("deployment_controller") is None:
        # CloudFormation replaces a service that gets one, ECS's own default, which takes every GPU twice.
        resource.deployment_controller = None
    if not is_managed and options.get("placement_strategies") is None:
        # CDK writes MEMORY where the API says memory:
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PlacementStrategy.html
        last = int(options.get("availability_zone_rebalancing") is ecs.AvailabilityZoneRebalancing.ENABLED)
        resource.add_property_override(f"PlacementStrategies.{last}.Field", "memory")

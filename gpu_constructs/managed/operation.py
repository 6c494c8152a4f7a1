"""How ECS looks after its Managed Instances: what it repairs, ends, watches and marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import flag, known_or, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.hardware.aws_limits import MAX_IDLE_SECONDS


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedOperation:
    """How ECS looks after the hosts of Managed Instances.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateManagedInstancesProviderConfiguration.html

    Args:
        automatic_repair: Whether ECS replaces hosts that are impaired, their GPUs included. By default it does.
        scale_in_after_seconds: How long a host may be idle or half empty before ECS ends it, up to 3600; with
            -1 it never does. By default as ECS sees fit.
        detailed_monitoring: Whether hosts send metrics every minute instead of every five. By default not.
        fips: Whether hosts use validated cryptographic modules only. By default in GovCloud regions.
        propagate_tags: Whether hosts get the tags of the provider. By default they do.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    automatic_repair: bool = True
    scale_in_after_seconds: int | None = None
    detailed_monitoring: bool = False
    fips: bool | None = None
    propagate_tags: bool = True

    def __post_init__(self) -> None:
        for argument in ("automatic_repair", "detailed_monitoring", "propagate_tags"):
            flag(argument, getattr(self, argument))
        if self.fips is not None:
            flag("fips", self.fips)
        if self.scale_in_after_seconds is not None:
            seconds = whole_number(
                "scale_in_after_seconds",
                self.scale_in_after_seconds,
                smallest=-1,
                largest=MAX_IDLE_SECONDS,
                unit="seconds, -1 for never",
                fix="leave it out for ECS's own default",
            )
            object.__setattr__(self, "scale_in_after_seconds", known_or(self.scale_in_after_seconds, seconds))

    @property
    def monitoring(self) -> ecs.InstanceMonitoring | None:
        """How often hosts send metrics, as CDK takes it; None for every five minutes."""
        return ecs.InstanceMonitoring.DETAILED if self.detailed_monitoring else None

    @property
    def tags(self) -> ecs.PropagateManagedInstancesTags:
        """Whose tags hosts get, as CDK takes it."""
        tags = ecs.PropagateManagedInstancesTags
        return tags.CAPACITY_PROVIDER if self.propagate_tags else tags.NONE

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        return {} if self.fips is None else {"FipsEnabled": self.fips}

    def provider_data(self) -> Mapping[str, object]:
        """What it adds to the ``ManagedInstancesProvider``, where aws-cdk-lib 2.275 has no words for it."""
        repair = {"AutoRepairConfiguration": {"ActionsStatus": "ENABLED" if self.automatic_repair else "DISABLED"}}
        if self.scale_in_after_seconds is None:
            return repair
        return {**repair, "InfrastructureOptimization": {"ScaleInAfter": self.scale_in_after_seconds}}

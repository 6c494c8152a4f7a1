"""An Auto Scaling group: what its launch templates, overrides and purchase options come to, and when it has hosts.

Amazon EventBridge can change its size as scheduled actions do, by a call of the API or by a function of the user's
own. When it runs and what it does is not read, only whether it may be what empties the group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

from gpu_constructs.facts.values import grouped, kept
from gpu_constructs.fleet import (
    UNKNOWN,
    Block,
    GroupSettings,
    HostSetup,
    HostUpdate,
    Pool,
    PurchaseOption,
    TypeChoice,
    Unknown,
    UpdateMethod,
    WarmPool,
    known,
    values_of,
)
from gpu_constructs.template.model import STATE_MACHINES, Reference, Resource, mentioned
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.launch import UNKNOWN_LAUNCH, Launch, Launches
from gpu_constructs.template.resources.networks import Networks
from gpu_constructs.template.resources.purchases import and_also, bought_by_group, bought_by_policy, types_asked_for
from gpu_constructs.template.resources.section import Notes, Section, given, is_list, overrides_of
from gpu_constructs.template.resources.user_data import CLUSTER

AUTO_SCALING_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_DESIRED = "DesiredCapacity"
_NO_LIMIT = -1  # of MaxGroupPreparedCapacity: takes a limit away


def pool_of(resource: Resource, launch: Launch, **values: Any) -> Pool:  # noqa: ANN401 - fields of the pool
    """Hosts of a launch that no capacity provider of ECS manages as yet."""
    otherwise = None if launch.setup.user_data.complete else UNKNOWN
    return Pool(
        name=resource.logical_id,
        managed_scaling=False,
        cluster=launch.cluster if names_cluster(launch.setup) else otherwise,
        has_provider=False,
        origin=resource.origin,
        **{**values_of(launch.setup), **values},
    )


def names_cluster(setup: HostSetup) -> bool:
    """Whether the user data of hosts names their cluster."""
    return setup.user_data.get(CLUSTER) is not None


class Groups:
    """Reads Auto Scaling groups."""

    def __init__(self, index: Index, launches: Launches, networks: Networks, notes: Notes) -> None:
        self._index = index
        self._launches = launches
        self._networks = networks
        self._notes = notes
        self._schedules = Schedules(index, notes)
        self._ids = Counter(each.logical_id for each in index.all(AUTO_SCALING_GROUP))
        self._warm_pools: dict[Reference, WarmPool] = {}
        for each in index.all("AWS::AutoScaling::WarmPool"):
            properties = Section.of(each, notes)
            group = index.find(properties.get("AutoScalingGroupName"), AUTO_SCALING_GROUP, each.origin.place)
            if group is not None:
                self._warm_pools[group.reference] = _warm_pool(properties)

    @kept
    def of(self, resource: Resource) -> Pool:
        """The hosts of a group, which capacity providers may share, with every type of it."""
        properties = Section.of(resource, self._notes)
        launch = self._launch(properties)
        if properties.get("PlacementGroup") is not None:
            placed = self._launches.is_cluster_group(properties.get("PlacementGroup"), resource.origin.place)
            launch = _with(launch, placement_group=placed)
        bought = bought_by_group(resource, properties, launch.setup.bought, self._index)
        if bought.option is PurchaseOption.CAPACITY_BLOCK:
            bought = replace(bought, block=self._schedules.block(resource))
        return pool_of(
            resource,
            launch,
            bought=bought,
            min_instances=_hosts(properties, "MinSize"),
            max_instances=_hosts(properties, "MaxSize"),
            group=self._settings(resource, properties),
            **self._networks.of_hosts(
                properties.get("VPCZoneIdentifier"),
                properties.get("AvailabilityZones"),
                public_address=launch.public_address,
            ),
        )

    def _settings(self, resource: Resource, properties: Section) -> GroupSettings:
        is_weighted = any(each.has("WeightedCapacity") for each in overrides_of(properties))
        counts_hosts = _counts_hosts(properties) and not is_weighted
        return GroupSettings(
            name=resource.logical_id
            if self._ids[resource.logical_id] == 1
            else f"{resource.stack}/{resource.logical_id}",
            subnets=len(subnets) if is_list(subnets := properties.get("VPCZoneIdentifier")) else 0,
            desired_instances=_hosts(properties, _DESIRED) if properties.has(_DESIRED) else None,
            capacity_of_a_host=1 if counts_hosts else UNKNOWN,
            scale_in_protection=properties.flag("NewInstancesProtectedFromScaleIn") or False,
            warm_pool=self._warm_pools.get(resource.reference),
            update=_update(
                Section(resource.update_policy, resource.origin, ("UpdatePolicy",), self._notes), properties
            ),
            may_be_started_by_others=self._schedules.may_start(resource),
            max_may_rise=self._schedules.may_raise(resource.reference, properties.integer("MaxSize")),
        )

    def _launch(self, properties: Section) -> Launch:
        if properties.get("MixedInstancesPolicy") is not None:
            return self._mixed(properties.section("MixedInstancesPolicy"))
        if properties.get("LaunchTemplate") is not None:
            return self._launches.specified(properties.section("LaunchTemplate"))
        if properties.get("LaunchConfigurationName") is not None:
            return self._launches.configured(properties)
        if properties.get("InstanceId") is None:
            properties.note("expects LaunchTemplate or MixedInstancesPolicy", None)
        return UNKNOWN_LAUNCH

    def _mixed(self, policy: Section) -> Launch:
        template = policy.section("LaunchTemplate")
        first = self._launches.specified(template.section("LaunchTemplateSpecification"))
        launches, choices = [first], []
        for override in template.sections("Overrides"):
            own = override.section("LaunchTemplateSpecification")
            launch = self._launches.specified(own) if own.keys else first
            launches.append(launch)
            choices.append(types_asked_for(override, launch.architecture) or launch.setup)
        setups = [each.setup for each in launches]
        images, setup = {each.image for each in setups}, first.setup
        if len(images) > 1:
            template.note("overrides with their own images are not read", len(images), "Overrides")
            setup = replace(setup, image=UNKNOWN, image_written=None)
        if len({each.vcpus for each in setups}) > 1:
            setup = replace(setup, vcpus=UNKNOWN)
        bought = bought_by_policy(policy, setup.bought, {each.bought.option for each in setups})
        types = values_of(reduce(and_also, choices), TypeChoice) if choices else {}
        return _with(replace(first, setup=setup), bought=bought, **types)


def _with(launch: Launch, **values: Any) -> Launch:  # noqa: ANN401 - fields of the setup
    return replace(launch, setup=replace(launch.setup, **values))


def _hosts(properties: Section, key: str) -> int | Unknown:
    """Hosts that a size comes to; unknown where it counts vCPUs or memory. Weights are left out: ECS takes none.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html
    """
    size = properties.integer(key)
    return size if isinstance(size, int) and _counts_hosts(properties) else UNKNOWN


def _counts_hosts(properties: Section) -> bool:
    return properties.text("DesiredCapacityType") in {None, "units"}


def _warm_pool(properties: Section) -> WarmPool:
    most = properties.integer("MaxGroupPreparedCapacity")
    return WarmPool(
        state=given(properties.text("PoolState"), "Stopped"),
        min_size=properties.integer("MinSize") or 0,
        max_prepared=None if most == _NO_LIMIT else most,
        reuse_on_scale_in=properties.section("InstanceReusePolicy").flag("ReuseOnScaleIn") or False,
    )


def _update(policy: Section, group: Section) -> HostUpdate | None:
    """How a deploy replaces hosts that run; None where it leaves them."""
    if policy.section(str(UpdateMethod.REPLACING)).flag("WillReplace") is True:
        return HostUpdate(method=UpdateMethod.REPLACING)
    refresh, rolling = (policy.section(str(each)) for each in (UpdateMethod.INSTANCE_REFRESH, UpdateMethod.ROLLING))
    if policy.get(str(UpdateMethod.INSTANCE_REFRESH)) is not None:
        preferences, update = refresh.section("Preferences"), HostUpdate(method=UpdateMethod.INSTANCE_REFRESH)
        least, most = (preferences.integer(each) for each in ("MinHealthyPercentage", "MaxHealthyPercentage"))
        # Without a policy of the group these are 100 and 110 for whole hosts, which is what `HostUpdate` has.
        is_default = group.get("InstanceMaintenancePolicy") is None and refresh.text("Strategy") == "Rolling"
        protected = preferences.text("ScaleInProtectedInstances")
        return replace(
            update,
            min_healthy_percent=given(least, update.min_healthy_percent if is_default else UNKNOWN),
            max_healthy_percent=given(most, update.max_healthy_percent if is_default else UNKNOWN),
            replaces_protected=UNKNOWN if isinstance(protected, Unknown) else protected == "Refresh",
        )
    if policy.get(str(UpdateMethod.ROLLING)) is not None:
        return HostUpdate(
            method=UpdateMethod.ROLLING,
            min_in_service=given(rolling.integer("MinInstancesInService"), 0),
            suspended=rolling.texts("SuspendProcesses"),
        )
    return None


_ACTION = "AWS::AutoScaling::ScheduledAction"
_SIZES = ("MaxSize", _DESIRED, "MinSize")
_POLICY = "AWS::AutoScaling::ScalingPolicy"
_WORK = ("AWS::ECS::Service", "AWS::Events::Rule", "AWS::Pipes::Pipe", "AWS::Scheduler::Schedule", *STATE_MACHINES)

_AUTO_SCALING, _FUNCTION = "autoscaling", "AWS::Lambda::Function"

_UPDATE_GROUP = "autoscaling:UpdateAutoScalingGroup"
_SET_SIZE = ("autoscaling:ExecutePolicy", "autoscaling:SetDesiredCapacity", _UPDATE_GROUP)


class Schedules:
    """Reads scheduled actions, and whatever else may change the size of a group."""

    def __init__(self, index: Index, notes: Notes) -> None:
        self._index = index
        some = ((each.properties.get("AutoScalingGroupName"), each) for each in index.all(_ACTION))
        groups = ((index.reference(name, AUTO_SCALING_GROUP, each.origin.place), each) for name, each in some)
        self._actions = grouped((group, Section.of(each, notes)) for group, each in groups)
        # Whatever group an action of no known one is for may be any.
        self._of_any = self._actions.get(None, [])

    def block(self, group: Resource) -> Block:
        """When the hosts of a group in a Capacity Block are there."""
        actions = self._actions.get(group.reference, [])
        ends = _time(each for each in actions if _shrinks(each))
        if ends is None and (self._of_any or self._may_be_emptied):
            ends = UNKNOWN
        return Block(starts=_time(each for each in actions if _grows(each)), ends=ends)

    def may_start(self, group: Resource) -> bool:
        """Whether something here may start hosts of a group that ECS does not start itself."""
        if not self._is_asked:
            return False
        return (
            bool(self._of_any)
            or any(_grows(each) for each in self._actions.get(group.reference, ()))
            or not self._with_policies.isdisjoint({group.reference, None})
            or self._index.others.may_call(*_SET_SIZE, on=group.reference)
        )

    def may_raise(self, group: Reference, most: int | Unknown | None) -> bool:
        """Whether a scheduled action, or whoever may call Auto Scaling or reach a group, may set a higher MaxSize."""
        sizes = [each.integer("MaxSize") for each in (*self._actions.get(group, ()), *self._of_any)]
        is_higher = any(isinstance(each, Unknown) or (each or 0) > known(most or 0) for each in sizes)
        others = self._index.others
        return is_higher or group in others.exposed_to_stacks or others.may_call(_UPDATE_GROUP, on=group)

    @cached_property
    def _is_asked(self) -> bool:
        """Whether anything here runs tasks that ECS starts no hosts for: without a strategy, or without its scaling."""
        return any("CapacityProviderStrategy" not in each.properties for each in self._index.all(*_WORK)) or any(
            Section.of(each, []).section("AutoScalingGroupProvider").section("ManagedScaling").get("Status")
            != "ENABLED"
            for each in self._index.all("AWS::ECS::CapacityProvider")
        )

    @cached_property
    def _with_policies(self) -> frozenset[Reference | None]:
        """Groups that have a scaling policy of their own; None for one that is not known."""
        return self._index.named_by(self._index.all(_POLICY), "AutoScalingGroupName", AUTO_SCALING_GROUP)

    @cached_property
    def _may_be_emptied(self) -> bool:
        """Whether a schedule of EventBridge calls Auto Scaling, or a function of these files, which may."""
        rules = self._index.all("AWS::Events::Rule", "AWS::Scheduler::Schedule")
        scheduled = [mentioned(each) for each in rules if "ScheduleExpression" in each.properties]
        calls = any(self._index.at(one, _FUNCTION) for _, references in scheduled for one in references)
        return calls or any(_AUTO_SCALING in text.lower() for text, _ in scheduled)


def _time(actions: Iterable[Section]) -> str | Unknown | None:
    """The one time of these; unknown where there are several, or one that comes again and again."""
    times = [UNKNOWN if each.has("Recurrence") else each.text("StartTime") for each in actions]
    known = times[0] if len(times) == 1 else UNKNOWN if times else None
    return UNKNOWN if times and known is None else known


def _shrinks(action: Section) -> bool:
    """Whether nothing is left afterwards, or that is not known."""
    most, desired, least = (action.integer(key) for key in _SIZES)
    return most == 0 or isinstance(most, Unknown) or (desired is not None and not desired and not least)


def _grows(action: Section) -> bool:
    """Whether there are hosts afterwards, or may be."""
    return not _shrinks(action) and any(action.integer(key) not in {None, 0} for key in _SIZES)

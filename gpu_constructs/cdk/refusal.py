"""A constructor refuses what an error rule refuses: the rule decides, and the error names arguments.

Rules speak of properties, as CloudFormation calls them, and mark the words in their texts that a constructor may call
otherwise. `ARGUMENTS` says what constructors call them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gpu_constructs.errors import DoesNotFitError, GpuConstructsError, IncompatibleError, InvalidValueError
from gpu_constructs.fleet import Fleet, Pool, StrategyItem, Task, Workload
from gpu_constructs.rules import Finding, Rule, Severity, check, check_alone, rules_of
from gpu_constructs.rules import tasks as rules_of_tasks
from gpu_constructs.rules.finding import in_arguments

ARGUMENTS: Mapping[str, str] = {
    "HealthCheckGracePeriodSeconds": "health_check_grace_period",
    "MaxCapacity": "max_tasks",
    "MaxSize": "max_instances",
    "MaximumPercent": "max_healthy_percent",
    "Memory": "memory_mib",
    "MinSize": "min_instances",
    "MinSize of the warm pool": "hosts",
    "MinHealthyPercentage": "replacement",
    "MinimumHealthyPercent": "min_healthy_percent",
    "a lower MinHealthyPercentage with MaxHealthyPercentage 100": "replacement=HostReplacement(launch_first=False)",
    "WarmPool": "warm_hosts",
    "ManagedTerminationProtection": "managed_termination_protection",
    "MarketType": "purchase",
    "ManagedTerminationProtection to DISABLED": "managed_termination_protection to False",
    "PlacementGroup": "placement_group",
    "the placement group": "placement_group",
    "its own Auto Scaling group and capacity provider": "its own add_capacity",
    "CapacityProvider.Name": "capacity_provider_name",
    "PoolState": "state",
    "ImageId": "image",
    "follow the newest with": "take GpuMachineImage.newest, which follows",
    "InstanceType": "instance_types",
    "NetworkInterfaces": "network",
    "VPCZoneIdentifier": "vpc_subnets",
    "subnets of one zone": "vpc_subnets=ec2.SubnetSelection(availability_zones=[…]) with the zone that has the hosts",
    "a capacity provider for each shape": "one add_capacity for each shape, or add_family for a whole family",
    "the warm pool": "warm_hosts",
    "no warm pool": "no warm_hosts",
    "Neuron devices instead of GPUs": "add_neuron_container",
}
"""Properties of templates and words of rules, and what the constructs call them."""


def is_error(rule: Rule) -> bool:
    """Whether a constructor raises what the rule finds; nothing else is looked for."""
    return rule.severity is Severity.ERROR


def require_allowed(
    thing: Pool | Task | Workload, arguments: Mapping[str, str] | None = None, *, first: Sequence[str] = ()
) -> None:
    """Refuses a pool, a task or a workload that no deployment can make work, whatever it is combined with.

    Rules of `first` decide before all others, in this order and whatever their severity: warnings that are errors where
    a constructor knows more than a reader of files, and rules about a whole fleet.
    """
    found = check_alone(thing, rules=is_error, also=first)
    in_order = sorted(found, key=lambda each: first.index(each.rule) if each.rule in first else len(first))
    raise_first(in_order, arguments, also=first)


def require_yes(thing: Pool | Task | Workload, *rules: str, arguments: Mapping[str, str] | None = None) -> None:
    """Refuses a thing that some rules do not answer with yes, whatever their severity.

    For warnings that are errors where a constructor knows more than a reader of files, and for errors about a whole
    fleet that a constructor can decide on one thing.
    """
    raise_any(check_alone(thing, rules=rules), arguments)


def raise_any(findings: Iterable[Finding], arguments: Mapping[str, str] | None = None) -> None:
    """Raises the first of some findings, whatever its severity."""
    for each in findings:
        raise _refusal(each, {**ARGUMENTS, **(arguments or {})}, {})


def require_served(
    task: Task,
    pools: Sequence[Pool],
    arguments: Mapping[str, str] | None = None,
    *,
    given: Mapping[str, object] | None = None,
    also: Collection[str] = (),
) -> None:
    """Refuses a task that cannot work, or that the hosts of some pools cannot serve, however much room they have.

    `given` is what the user gave, by argument, where that is not what the property says; `also` are warnings that this
    constructor refuses, because it knows more than the reader of a file.
    """
    of_tasks = {each.id for each in rules_of(rules_of_tasks)}

    def is_asked(rule: Rule) -> bool:
        return rule.id in also or (is_error(rule) and (rule.about is Task or rule.id in of_tasks))

    raise_first(check(alone_on(pools, task), rules=is_asked), arguments, given=given, also=also)


def alone_on(pools: Sequence[Pool], task: Task) -> Fleet:
    """A task that is placed on some pools, and nothing else."""
    by_name = {each.name: each for each in pools}
    strategy = tuple(StrategyItem(provider=name, pool=pool, weight=1) for name, pool in by_name.items())
    workload = Workload(name=task.name, task=task, strategy=strategy)
    return Fleet(pools=tuple(by_name.values()), tasks=(task,), workloads=(workload,))


def raise_first(
    findings: Iterable[Finding],
    arguments: Mapping[str, str] | None = None,
    *,
    given: Mapping[str, object] | None = None,
    also: Collection[str] = (),
) -> None:
    """Raises the first error among some findings.

    `given` and `also` are those of `require_served`.
    """
    for each in findings:
        if each.severity is Severity.ERROR or each.rule in also:
            raise _refusal(each, {**ARGUMENTS, **(arguments or {})}, given or {})


def _refusal(finding: Finding, arguments: Mapping[str, str], given: Mapping[str, object]) -> GpuConstructsError:
    argument = arguments.get(finding.property_name, finding.property_name) or None
    return _kind(finding)(
        in_arguments(finding.message, arguments),
        argument=argument,
        value=given.get(argument or "", finding.value),
        allowed=in_arguments(finding.allowed, arguments) or None,
        fix=in_arguments(finding.fix, arguments) or None,
        rule=finding.rule,
    )


def _kind(finding: Finding) -> type[GpuConstructsError]:
    if finding.is_shortage:
        return DoesNotFitError
    return InvalidValueError if finding.one_value else IncompatibleError

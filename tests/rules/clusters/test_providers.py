"""Capacity providers: their names and kinds, the lists and strategies that name them, and their clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, ProviderList, StrategyItem, Unknown, UserData, Workload
from gpu_constructs.rules import Rule, Severity, check, rules_of
from gpu_constructs.rules.clusters import cluster_membership as room
from gpu_constructs.rules.clusters import services
from gpu_constructs.rules.clusters.cluster_membership import accepted, joins_cluster_of_provider, of_the_cluster
from gpu_constructs.rules.clusters.services import compatible_with_capacity
from gpu_constructs.rules.scaling.managed_scaling import has_a_first_host
from tests.reports import of_part
from tests.rules.given import GPU_TASK, a_pool, managed_pool, on_launch_type, only, running_on, said


def written(*clusters: str | Unknown | None, is_defined: bool = True, is_certain: bool = True) -> Fleet:
    lists = (ProviderList(cluster=each, cluster_is_defined=is_defined, is_certain=is_certain) for each in clusters)
    return Fleet(provider_lists=tuple(lists))


@pytest.mark.parametrize(
    ("cluster", "named"), [("gpu", "the cluster gpu"), (None, "the default cluster"), (UNKNOWN, "a cluster")]
)
def test_a_list_of_a_cluster_that_was_not_read_is_a_warning(cluster: str | Unknown | None, named: str) -> None:
    finding = only(room.the_only_list, written(cluster, is_defined=False))
    assert f"the default strategy of {named}, and the files that were read do not define it" in finding.message


def test_two_lists_of_one_cluster_are_a_warning() -> None:
    finding = only(room.the_only_list, written("gpu", "gpu"))
    assert "the cluster gpu has a second list of capacity providers" in finding.message


@pytest.mark.parametrize(
    ("name", "words", "fix"),
    [
        ("FARGATE", "does not begin with aws, ecs or fargate", "gpu-FARGATE"),
        ("my gpu", "letters, digits, hyphens and underscores", "my-gpu"),
        ("", "1 to 255", "no name"),
    ],
)
def test_a_name_of_a_provider_that_ecs_refuses_is_an_error(name: str, words: str, fix: str) -> None:
    finding = only(accepted, Fleet(pools=(a_pool(provider=name),)))
    assert finding.rule == "GPU046"
    assert words in finding.message
    assert fix in finding.fix
    assert len(finding.message) < 400


GROUP, MANAGED = a_pool(), managed_pool("g6.xlarge")


@pytest.mark.parametrize(
    ("pool", "compatibilities", "words", "fix"),
    [
        (MANAGED, ("EC2",), "requires EC2, and chat-service runs it on managed (ECS", "MANAGED_INSTANCES in "),
        (GROUP, ("MANAGED_INSTANCES",), "runs it on Hosts (Auto Scaling group)", "EC2 in RequiresCompatibilities"),
    ],
)
def test_a_task_for_another_kind_is_an_error_on_managed_instances_alone(
    pool: Pool, compatibilities: tuple[str, ...], words: str, fix: str
) -> None:
    finding = only(compatible_with_capacity, running_on(pool, task=replace(GPU_TASK, compatibilities=compatibilities)))
    assert (finding.rule, finding.severity) == ("GPU125", Severity.ERROR if pool is MANAGED else Severity.WARNING)
    assert words in finding.message
    assert fix in finding.fix


def test_managed_instances_take_no_task_by_a_launch_type() -> None:
    finding = only(has_a_first_host, on_launch_type(MANAGED, task=GPU_TASK))
    assert (finding.rule, finding.severity) == ("GPU218", Severity.WARNING)
    assert "has the launch type EC2, and its cluster has only ECS Managed Instances (managed)" in (finding.message)
    assert finding.fix == "use a CapacityProviderStrategy with managed, and remove LaunchType"


def item(
    name: str = "L4", weight: int | Unknown = 1, base: int | Unknown = 0, *, fargate: bool = False
) -> StrategyItem:
    return StrategyItem(provider=name, pool=None if fargate else a_pool(name=name), weight=weight, base=base)


def said_of(*strategy: StrategyItem) -> list[tuple[str, Severity, str]]:
    fleet = Fleet(workloads=(Workload(name="chat", task=None, strategy=strategy),))
    return [(each.rule, each.severity, each.message) for each in check(fleet, rules=rules_of(services))]


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ([item(f"P{index}") for index in range(21)], "has 21 capacity providers, and 20 are allowed"),
        ([item(base=100_001)], "gives L4 a base of 100001, and 0 to 100000 are allowed"),
        ([item(weight=-1)], "a weight of -1"),
        ([item("A", 0), item("B", 0)], "gives all of its 2 providers a weight of 0"),
        ([item("A", base=1), item("B", base=2)], "gives A and B a base, and only one provider can have one"),
    ],
)
def test_what_ecs_refuses_is_an_error(strategy: list[StrategyItem], words: str) -> None:
    ((rule, severity, message),) = said_of(*strategy)
    assert (rule, severity) == ("GPU089", Severity.ERROR)
    assert message.startswith("the strategy of chat ")
    assert words in message


@pytest.mark.parametrize(
    "strategy",
    [[], [item(weight=0, base=1)], [item("A", 0, 1), item("B", 1)]],
)
def test_what_ecs_takes_or_may_take_is_silent(strategy: list[StrategyItem]) -> None:
    assert said_of(*strategy) == []


def hosts(**changes: Any) -> Pool:
    return a_pool(**{"cluster": "gpu", "associated": True, **changes})


def test_all_providers_that_an_association_lacks_are_one_finding() -> None:
    one, other = hosts(associated=False), hosts(associated=False, name="Others")
    finding = only(of_the_cluster, running_on(one, other, cluster="gpu"))
    assert "names Hosts and Others, which are not among the capacity providers" in finding.message
    assert finding.fix.startswith("add Hosts and Others to CapacityProviders")


@pytest.mark.parametrize(
    ("pool", "cluster", "words"),
    [
        (hosts(), "web", "a capacity provider of the cluster gpu, and chat-service runs in web"),
        (hosts(), None, "of the cluster gpu, and chat-service runs in default"),
    ],
)
def test_a_provider_of_another_cluster_is_a_warning(pool: Pool, cluster: str | None, words: str) -> None:
    finding = only(rules_of(room), running_on(pool, cluster=cluster))
    assert (finding.rule, finding.severity) == ("GPU217", Severity.WARNING)
    assert words in finding.message
    assert finding.fix.startswith("run chat-service in gpu, or use a capacity provider of ")


@pytest.mark.parametrize(
    ("rule", "fleets"),
    [
        (room.the_only_list, [written("gpu"), written("a", "b"), written(UNKNOWN, UNKNOWN)]),
        (room.the_only_list, [written("a", "a", is_certain=False)]),  # one or the other
        (accepted, [a_pool(), a_pool(provider="gpu-L4_1"), a_pool(provider="aws", has_provider=False)]),
        (has_a_first_host, [on_launch_type(MANAGED, GROUP, task=GPU_TASK)]),
        (has_a_first_host, [on_launch_type(MANAGED, task=GPU_TASK, cluster=each) for each in ("other", UNKNOWN)]),
        (has_a_first_host, [on_launch_type(MANAGED, task=GPU_TASK, launch_type="EXTERNAL")]),
        (of_the_cluster, [running_on(hosts(), cluster="gpu"), running_on(hosts(cluster=UNKNOWN), cluster="gpu")]),
        (of_the_cluster, [running_on(hosts(associated=False), cluster="web")]),
        # which may join the right one
        (joins_cluster_of_provider, [hosts(told_cluster="gpu"), hosts(told_cluster="web", cluster=UNKNOWN)]),
        (joins_cluster_of_provider, [hosts(told_cluster="web", user_data=UserData(complete=False))]),
    ],
)
def test_what_is_fine_or_not_known_is_silent(rule: Rule, fleets: list[Fleet | Pool]) -> None:
    assert [each for fleet in fleets for each in said(rule, fleet)] == []


_OF_ANOTHER = """
  Other: {Type: AWS::ECS::Cluster, Properties: {}}
  Elsewhere:
    Type: AWS::ECS::CapacityProvider
    Properties: {Name: elsewhere-l4, AutoScalingGroupProvider: {AutoScalingGroupArn: arn}}
  OfOther:
    Type: AWS::ECS::ClusterCapacityProviderAssociations
    Properties: {Cluster: !Ref Other, CapacityProviders: [!Ref Elsewhere], DefaultCapacityProviderStrategy: []}
"""


@pytest.mark.parametrize(
    ("names", "fixes"),
    [
        (["Other"], ["add Other to CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations of Cluster"]),
        (["Other", "gpu-14", "Third"], ["add Other and Third to CapacityProviders", "gpu-l4"]),
    ],
)
def test_providers_that_the_cluster_does_not_have_are_refused(names: list[str], fixes: list[str]) -> None:
    strategy = ", ".join(f"{{CapacityProvider: {each}, Weight: 1}}" for each in names)
    findings = of_part(
        "GPU217",
        "Resources:\n  Provider: {Properties: {Name: gpu-l4}}\n"
        f"  Service: {{Properties: {{CapacityProviderStrategy: [{strategy}]}}}}{_OF_ANOTHER}",
    )
    assert [each.severity for each in findings] == [Severity.ERROR] * len(fixes)
    assert all(expected in each.fix for each, expected in zip(findings, fixes, strict=True))
    assert all("which no list of capacity providers associates" in each.message for each in findings)


@pytest.mark.parametrize(
    ("first", "second", "severities"),
    [
        ("", "", [Severity.ERROR]),
        ("", "Condition: 'Yes'", [Severity.WARNING]),
        ("Condition: 'No'", "Condition: 'Yes'", []),
    ],
)
def test_two_providers_of_one_group_are_refused_before_a_cluster_lists_them(
    first: str, second: str, severities: list[Severity]
) -> None:
    group = "Properties: {AutoScalingGroupProvider: {AutoScalingGroupArn: !Ref Hosts}}"
    findings = of_part(
        "GPU124",
        "Parameters: {Two: {Type: String}}\n"
        "Conditions: {'Yes': !Equals [!Ref Two, 'yes'], 'No': !Not [Condition: 'Yes']}\n"
        f"Resources:\n  Second: {{Type: AWS::ECS::CapacityProvider, {group}, {second}}}\n"
        f"  Provider: {{{first}}}\n",
    )
    assert [each.severity for each in findings] == severities

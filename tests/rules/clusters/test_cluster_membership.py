"""Who belongs to which cluster."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, StrategyItem, UserData
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.clusters import cluster_membership
from gpu_constructs.rules.clusters.cluster_membership import joins_cluster_of_provider, of_the_cluster, one_provider
from tests.reports import of_part
from tests.rules.given import GPU_TASK, a_pool, managed_pool, only, running_on, said, service

RULES = rules_of(cluster_membership)


def hosts(**changes: Any) -> Pool:
    return a_pool(**{"cluster": "gpu", "associated": True, **changes})


def managed(cluster: str) -> Pool:
    return a_pool(kind=PoolKind.MANAGED_INSTANCES, image=UNKNOWN, cluster=cluster)


def test_a_provider_that_the_cluster_does_not_list_is_refused() -> None:
    finding = only(of_the_cluster, running_on(hosts(associated=False), cluster="gpu"))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU217", Severity.ERROR, "chat-service")
    assert "names Hosts, which is not among the capacity providers of the cluster gpu" in finding.message
    assert finding.fix == "add Hosts to CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations"


def test_a_provider_that_a_strategy_names_twice_is_told_once() -> None:
    item = StrategyItem(provider="Hosts", pool=hosts(associated=False), weight=1)
    assert len(said(of_the_cluster, running_on(cluster="gpu", strategy=(item, item)))) == 1


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
        (managed("gpu"), "web", "of the cluster gpu, and chat-service runs in web"),
    ],
)
def test_a_provider_of_another_cluster_is_a_warning(pool: Pool, cluster: str | None, words: str) -> None:
    finding = only(RULES, running_on(pool, cluster=cluster))
    assert (finding.rule, finding.severity) == ("GPU217", Severity.WARNING)
    assert words in finding.message
    assert finding.fix.startswith("run chat-service in gpu, or use a capacity provider of ")


@pytest.mark.parametrize(
    ("pool", "cluster"),
    [
        (hosts(), "gpu"),
        (hosts(cluster=None), None),
        (hosts(), UNKNOWN),
        (hosts(cluster=UNKNOWN), "gpu"),
        (hosts(associated=UNKNOWN), "gpu"),
        (hosts(associated=UNKNOWN), "web"),
        (hosts(associated=False), "web"),
        (managed("gpu"), "gpu"),
    ],
)
def test_the_same_cluster_and_what_nobody_knows_are_silent(pool: Pool, cluster: Any) -> None:
    assert said(of_the_cluster, running_on(pool, cluster=cluster)) == []


@pytest.mark.parametrize(
    ("cluster", "told", "words"),
    [
        ("prod", "prdo", "join the cluster prdo, and their capacity provider belongs to prod"),
        ("prod", "default", "join the cluster default"),
        (None, "prod", "belongs to default"),
    ],
)
def test_hosts_that_join_another_cluster_never_get_a_task(cluster: str | None, told: str, words: str) -> None:
    finding = only(joins_cluster_of_provider, hosts(cluster=cluster, told_cluster=told))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU122", Severity.ERROR, "Hosts")
    assert words in finding.message
    assert finding.fix == f"a reference to {cluster or 'default'} in ECS_CLUSTER"


@pytest.mark.parametrize(
    "changes",
    [
        {"told_cluster": None},
        {"told_cluster": "gpu"},
        {"told_cluster": UNKNOWN},
        {"told_cluster": "web", "cluster": UNKNOWN},
        {"told_cluster": "web", "has_provider": False},
        {"told_cluster": "web", "user_data": UserData(complete=False)},
    ],
)
def test_hosts_that_may_join_the_right_one_are_silent(changes: dict[str, Any]) -> None:
    assert said(joins_cluster_of_provider, hosts(**changes)) == []


def test_a_group_with_two_providers_is_refused() -> None:
    one, other = hosts(group="Group", name="One"), hosts(group="Group", name="Other")
    finding = only(one_provider, Fleet(pools=(one, other, hosts(group="Third", name="Third"))))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU124", Severity.ERROR, "Other")
    assert "Other and One are capacity providers of the same Auto Scaling group, Group" in finding.message


@pytest.mark.parametrize(
    "changes",
    [{"group": "Other"}, {"group": None}, {"group": "Group", "associated": UNKNOWN}],
)
def test_groups_of_their_own_and_providers_of_which_one_may_not_exist_are_silent(changes: dict[str, Any]) -> None:
    first = hosts(group=changes["group"] and "Group", name="One")
    assert said(one_provider, Fleet(pools=(first, hosts(**changes)))) == []


def test_managed_instances_of_a_strategy_are_of_no_group() -> None:
    pools = (managed_pool("g6.xlarge"), hosts())
    assert said(one_provider, Fleet(pools=pools, workloads=(service(GPU_TASK, *pools),))) == []


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
        (["gpu-14"], ["gpu-l4"]),
        (["elsewhere-l4"], ["run Service in the cluster Other, or use a capacity provider of Cluster"]),
        (["gpu-l4"], []),
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

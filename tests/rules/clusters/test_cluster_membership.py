"""Who belongs to which cluster."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, UserData
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.clusters import cluster_membership
from gpu_constructs.rules.clusters.cluster_membership import joins_cluster_of_provider, of_the_cluster
from tests.reports import of_part
from tests.rules.given import a_pool, only, running_on, said

RULES = rules_of(cluster_membership)


def hosts(**changes: Any) -> Pool:
    return a_pool(**{"cluster": "gpu", "associated": True, **changes})


def managed(cluster: str) -> Pool:
    return a_pool(kind=PoolKind.MANAGED_INSTANCES, image=UNKNOWN, cluster=cluster)


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
    [(hosts(), "gpu"), (hosts(cluster=UNKNOWN), "gpu"), (hosts(associated=False), "web")],
)
def test_the_same_cluster_and_what_nobody_knows_are_silent(pool: Pool, cluster: Any) -> None:
    assert said(of_the_cluster, running_on(pool, cluster=cluster)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"told_cluster": "gpu"},
        {"told_cluster": "web", "cluster": UNKNOWN},
        {"told_cluster": "web", "user_data": UserData(complete=False)},
    ],
)
def test_hosts_that_may_join_the_right_one_are_silent(changes: dict[str, Any]) -> None:
    assert said(joins_cluster_of_provider, hosts(**changes)) == []


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

"""Who belongs to which cluster."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, StrategyItem, UserData
from gpu_constructs.rules import Finding, Severity, rules_of
from gpu_constructs.rules.clusters import cluster_membership
from gpu_constructs.rules.clusters.cluster_membership import (
    associated,
    joins_cluster_of_provider,
    of_same_cluster,
    of_the_cluster,
    one_provider,
)
from tests.rules.given import GPU_TASK, a_pool, managed_pool, only, running_on, said, service

RULES = rules_of(cluster_membership)


def hosts(**changes: Any) -> Pool:
    return a_pool(**{"cluster": "gpu", "associated": True, **changes})


def managed(cluster: str) -> Pool:
    return a_pool(kind=PoolKind.MANAGED_INSTANCES, image=UNKNOWN, cluster=cluster)


def test_a_provider_that_the_cluster_does_not_list_is_refused() -> None:
    finding = only(associated, running_on(hosts(associated=False), cluster="gpu"))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU121", Severity.ERROR, "chat-service")
    assert "names Hosts, which is not among the capacity providers of the cluster gpu" in finding.message
    assert finding.fix == "add Hosts to CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations"


def test_a_provider_that_a_strategy_names_twice_is_told_once() -> None:
    item = StrategyItem(provider="Hosts", pool=hosts(associated=False), weight=1)
    assert len(said(associated, running_on(cluster="gpu", strategy=(item, item)))) == 1


def test_all_providers_that_an_association_lacks_are_one_finding() -> None:
    one, other = hosts(associated=False), hosts(associated=False, name="Others")
    finding = only(associated, running_on(one, other, cluster="gpu"))
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
    assert (finding.rule, finding.severity) == ("GPU143", Severity.WARNING)
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
    assert said((associated, of_same_cluster), running_on(pool, cluster=cluster)) == []


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


class TestProvidersThatTheClusterDoesNotHave:
    def of(self, *names: str, **changes: Any) -> list[Finding]:
        pool = a_pool(provider="gpu-l4", **{"cluster": "prod", "associated": True, **changes})
        fleet = running_on(pool, cluster="prod", missing_providers=names)
        return said(of_the_cluster, fleet)

    def test_are_refused(self) -> None:
        (finding,) = self.of("Other", associated=UNKNOWN)
        assert finding.severity is Severity.ERROR
        assert "names Other, which no list of capacity providers associates with the cluster prod" in finding.message
        assert finding.fix == (
            "add Other to CapacityProviders of AWS::ECS::ClusterCapacityProviderAssociations of prod"
        )

    def test_are_said_together_where_one_change_mends_them(self) -> None:
        first, second = self.of("Other", "gpu-14", "Third")
        assert "names Other and Third, which" in first.message
        assert (first.value, first.fix.partition(" to ")[0]) == (["Other", "Third"], "add Other and Third")
        assert second.fix == "gpu-l4"

    def test_may_be_misspelt(self) -> None:
        assert self.of("gpu-14")[0].fix == "gpu-l4"

    def test_may_belong_to_another_cluster(self) -> None:
        fix = "run chat-service in the cluster test, or use a capacity provider of prod"
        assert self.of("gpu-l4", cluster="test")[0].fix == fix

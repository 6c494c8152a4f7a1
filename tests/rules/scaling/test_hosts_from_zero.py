"""Tasks without a capacity provider strategy, with hosts and without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, ProviderList, Starter
from gpu_constructs.rules import Severity
from tests.rules.given import FIT_RULES, a_pool, a_task, found, on_launch_type, only, running_on, said

OF_CLUSTER = ProviderList(cluster="gpu", cluster_is_defined=True)


class TestServicesWithoutAStrategy:
    def test_never_make_managed_scaling_move(self) -> None:
        finding = only(FIT_RULES, on_launch_type(a_pool(provider="l4"), task=a_task("1")))
        assert (finding.rule, finding.severity, finding.subject) == ("GPU072", Severity.WARNING, "service")
        assert "has no capacity provider strategy but launch type EC2" in finding.message
        assert "never make Hosts scale out" in finding.message
        assert finding.fix == "a CapacityProviderStrategy with l4, and no LaunchType"

    @pytest.mark.parametrize(
        "changes",
        [{"managed_scaling": False}, {"managed_scaling": UNKNOWN}, {"has_provider": False}, {"min_instances": 4}],
    )
    def test_are_fine_on_hosts_that_nothing_scales(self, changes: dict[str, Any]) -> None:
        assert found(on_launch_type(a_pool(**changes), task=a_task("1"))) == []

    def test_are_fine_as_daemons(self) -> None:
        assert found(on_launch_type(a_pool(), task=a_task("1"), daemon=True)) == []


def ids(fleet: Fleet) -> list[str]:
    return [each.rule for each in said(FIT_RULES, fleet)]


def empty(**changes: Any) -> Pool:
    return a_pool(**{"cluster": "gpu", "group": "Group", "provider": "l4", **changes})


def started(pool: Pool, *, lists: tuple[ProviderList, ...] = (OF_CLUSTER,), **changes: Any) -> Fleet:
    given = {"cluster": "gpu", "starter": Starter.SCHEDULE, **changes}
    fleet = on_launch_type(pool, task=a_task("1"), is_whole=True, **given)
    return replace(fleet, provider_lists=lists)


class TestOnClustersThatStartFromZero:
    @pytest.mark.parametrize(
        ("changes", "way", "effect", "fix"),
        [
            (
                {},
                "launch type EC2",
                "RunTask fails at once, because there is no host",
                "a CapacityProviderStrategy with l4, and no LaunchType",
            ),
            (
                {"launch_type": None},
                "no capacity provider strategy",
                "RunTask fails at once, because there is no host",
                "a CapacityProviderStrategy with l4, or l4 in DefaultCapacityProviderStrategy of the cluster",
            ),
            (
                {"starter": Starter.SERVICE},
                "launch type EC2",
                "its tasks wait",
                "a CapacityProviderStrategy with l4, and no LaunchType",
            ),
        ],
    )
    def test_nothing_starts_the_first_host(self, changes: dict[str, Any], way: str, effect: str, fix: str) -> None:
        finding = only(FIT_RULES, started(empty(), **changes))
        assert (finding.rule, finding.severity, finding.fix) == ("GPU218", Severity.ERROR, fix)
        assert finding.message == (
            f"service runs train with {way}, and Hosts starts from zero hosts for tasks with a strategy only: {effect}"
        )

    @pytest.mark.parametrize(
        "pool",
        [
            pytest.param(empty(min_instances=1), id="a host is always there"),
            pytest.param(empty(min_instances=UNKNOWN), id="a number of the deploy"),
            pytest.param(empty(desired_instances=1), id="it starts with one"),
            pytest.param(empty(may_be_started_by_others=True), id="something else may start one"),
            pytest.param(empty(group=None), id="a group that was not read"),
        ],
    )
    def test_is_only_a_warning_where_a_host_may_be_there(self, pool: Pool) -> None:
        assert ids(started(pool)) == ["GPU072"]

    def test_nothing_starts_hosts_of_a_group_without_a_provider(self) -> None:
        bare = empty(has_provider=False, managed_scaling=False, provider=None)
        finding = only(FIT_RULES, started(bare))
        assert (finding.rule, finding.severity) == ("GPU218", Severity.ERROR)
        assert "nothing starts hosts in Hosts, with a MinSize of 0" in finding.message
        assert "GPU218" not in ids(started(replace(bare, min_instances=1)))

    def test_is_only_a_warning_where_tasks_with_a_strategy_start_hosts(self) -> None:
        pool = empty()
        others = replace(running_on(pool, task=a_task("1")).workloads[0], name="other", cluster="gpu")
        fleet = started(pool)
        assert ids(replace(fleet, workloads=(*fleet.workloads, others))) == ["GPU072"]
        off = replace(others, desired_count=0)
        assert ids(replace(fleet, workloads=(*fleet.workloads, off))) == ["GPU218"]

    def test_is_only_a_warning_where_hosts_of_other_files_may_join(self) -> None:
        assert ids(replace(started(empty()), is_whole=False)) == ["GPU072"]

    def test_hosts_that_cannot_run_the_task_are_no_first_host(self) -> None:
        cpu = empty(name="Cpu", group="Other", min_instances=1, has_provider=False)
        cpu = replace(cpu, instance_types=a_pool("c7i.xlarge").instance_types)
        fleet = started(empty(has_provider=False))
        assert ids(replace(fleet, pools=(cpu, *fleet.pools))) == ["GPU218"]

    def test_without_a_list_of_providers_a_group_without_one_is_a_warning(self) -> None:
        finding = only(FIT_RULES, started(empty(has_provider=False), lists=(), launch_type=None))
        assert (finding.rule, finding.severity) == ("GPU218", Severity.WARNING)

    def test_is_only_a_warning_where_the_cluster_may_have_a_default_strategy(self) -> None:
        assert ids(started(empty(), lists=(), launch_type=None)) == ["GPU072"]
        assert ids(started(empty(), lists=())) == ["GPU218"]

    def test_nothing_is_said_of_what_is_turned_off(self) -> None:
        assert ids(started(empty(), desired_count=0)) == ["GPU072"]

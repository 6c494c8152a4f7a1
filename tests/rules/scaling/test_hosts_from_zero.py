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
        "pool",
        [
            pytest.param(empty(min_instances=UNKNOWN), id="a number of the deploy"),
            pytest.param(empty(may_be_started_by_others=True), id="something else may start one"),
        ],
    )
    def test_is_only_a_warning_where_a_host_may_be_there(self, pool: Pool) -> None:
        assert ids(started(pool)) == ["GPU072"]

    def test_is_only_a_warning_where_tasks_with_a_strategy_start_hosts(self) -> None:
        pool = empty()
        others = replace(running_on(pool, task=a_task("1")).workloads[0], name="other", cluster="gpu")
        fleet = started(pool)
        assert ids(replace(fleet, workloads=(*fleet.workloads, others))) == ["GPU072"]
        off = replace(others, desired_count=0)
        assert ids(replace(fleet, workloads=(*fleet.workloads, off))) == ["GPU218"]

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

"""Tasks that fit on a host alone, and not beside its daemons."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs import GpuService
from gpu_constructs.fleet import Workload
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.fit import beside_daemons
from tests.rules.fit.test_whole_fleet import pool, service
from tests.rules.given import fleet_of, said
from tests.synthesis import Site

RULES = rules_of(beside_daemons)
L4 = pool(most=4)


def daemon(name: str = "watch", vcpus: int = 1) -> Workload:
    return replace(service(name, L4, 0, vcpus=vcpus), daemon=True)


def found(*workloads: Workload) -> list[str]:
    return [each.message for each in said(RULES, fleet_of(workloads=workloads))]


def test_a_task_that_takes_the_whole_host_has_no_room_beside_a_daemon() -> None:
    assert found(service("chat", L4, 4, vcpus=48), daemon()) == [
        "on L4, chat has no room for 1 of its tasks beside watch, which ECS starts first on every host"
    ]


def test_tasks_that_leave_room_have_it() -> None:
    assert found(service("chat", L4, 4, vcpus=47), daemon()) == []


def test_a_task_that_fits_nowhere_anyway_is_for_others_to_report() -> None:
    assert found(service("chat", L4, 4, 9, vcpus=48), daemon()) == []
    assert found(service("chat", L4, 4, vcpus=48)) == []


def test_a_size_that_was_given_is_found_when_the_cluster_is_monitored(site: Site) -> None:
    task = site.task(site.capacity("g6.xlarge"))
    task.add_gpu_container("work", image=site.image, cpu=4096)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    site.cluster.add_monitoring("Monitoring")
    (message,) = site.findings("GPU390")
    assert message.startswith(
        "on Cluster/Capacity, Service has no room for 1 of its tasks beside Cluster/Monitoring/Daemon"
    )

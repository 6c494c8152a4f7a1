"""Hosts that are full of tasks with default sizes have room for the daemon, whatever the order of lines in the app."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs import GpuJob, GpuService, GpuShare, InvalidValueError
from gpu_constructs.cluster.monitoring.options import KEPT
from gpu_constructs.facts import Vendor, accelerated
from gpu_constructs.fleet import Fleet, Task, known
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.pool_profile import cpu_units, planned_memory_mib, share_of
from gpu_constructs.placement.prover import prove
from gpu_constructs.template import fleet_of
from tests.examples import times
from tests.synthesis import Site, app_in
from tests.template.written import read_stacks

NVIDIA = [
    each
    for each in accelerated()
    if each.gpus and each.accelerators is not None and each.accelerators.vendor is Vendor.NVIDIA
]

containers = st.fixed_dictionaries(
    {
        "gpus": st.integers(1, 4) | st.just("ALL") | st.builds(GpuShare, memory_mib=st.integers(1000, 20_000)),
        "cpu": st.sampled_from([None, 512]),
        "memory_mib": st.sampled_from([None, 2048]),
        "shared_memory_mib": st.sampled_from([None, 128]),
    }
)
apps = st.fixed_dictionaries(
    {
        "before": st.lists(st.sampled_from([None, 256]), max_size=1),
        "container": containers,
        "after": st.lists(st.sampled_from([None, 256]), max_size=1),
    }
)


def build(site: Site, plan: dict[str, Any], *, place: int) -> Task:
    """The app of a plan, with the monitoring at a place among its lines."""

    def monitor(at: int) -> None:
        if at == place:
            site.cluster.add_monitoring("Monitoring")

    monitor(0)
    capacity = site.capacity("g6.12xlarge", "g6.24xlarge")
    task = site.task(capacity)
    for number, cpu in enumerate(plan["before"]):
        task.add_container(f"before{number}", image=site.image, cpu=cpu)
    monitor(1)
    task.add_gpu_container("work", image=site.image, **plan["container"])
    monitor(2)
    for number, memory in enumerate(plan["after"]):
        task.add_container(f"after{number}", image=site.image, memory_limit_mib=memory, essential=False)
    service = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    monitor(3)
    assert service.workload.task == task.task
    return task.task


@settings(max_examples=times(2), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(apps)
def test_the_order_of_lines_changes_no_size(plan: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = app_in(Path(folder))
        held = [build(Site(app, name=f"Place{place}"), plan, place=place) for place in range(4)]
        fleet = fleet_of(read_stacks([app.synth().directory]).stacks)
    read = [each for each in fleet.tasks if each.name.rpartition("/")[2] == "Task"]
    assert len(read) == len(held)
    assert [demand_of(each) for each in held] == [demand_of(held[0])] * 4
    for each in read:
        sizes = {c.name: (c.cpu, c.memory_limit_mib, c.shared_memory_mib) for c in each.containers}
        assert {c.name: (c.cpu, c.memory_limit_mib, c.shared_memory_mib) for c in held[0].containers}.items() <= (
            sizes.items()
        )


def test_shares_of_a_whole_host_leave_what_the_daemon_takes() -> None:
    for instance_type, gpus in ((each, gpus) for each in NVIDIA for gpus in range(1, each.gpus + 1)):
        share = share_of({instance_type: Fraction(gpus, instance_type.gpus)}, KEPT)
        copies = instance_type.gpus // gpus
        assert copies * share.cpu + KEPT.cpu <= cpu_units(instance_type)
        assert copies * share.memory_mib + KEPT.memory_mib <= planned_memory_mib(instance_type)


@pytest.mark.parametrize("gpus", [1, 4])
def test_a_full_fleet_is_proved_with_the_daemon(site: Site, gpus: int) -> None:
    capacity = site.capacity("g6.12xlarge", min_instances=2, max_instances=2)
    task = site.task(capacity)
    task.add_gpu_container("work", image=site.image, gpus=gpus)
    service = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, desired_count=2 * 4 // gpus)
    monitoring = site.cluster.add_monitoring("Monitoring")
    proof = prove(Fleet(pools=(capacity.pool,), workloads=(service.workload, monitoring.workload)))
    assert all(each.answer is True for each in proof.workloads), proof
    daemon = next(each for each in fleet_of(read_stacks([site.app.synth().directory]).stacks).workloads if each.daemon)
    assert daemon.task is not None
    assert monitoring.workload.task is not None
    # What its agent must be able to do only templates say.
    assert replace(demand_of(daemon.task), capabilities=()) == demand_of(monitoring.workload.task)
    assert site.warnings() == []


def test_a_share_without_room_for_the_daemon_is_refused(site: Site) -> None:
    capacity = site.capacity("g6.xlarge")
    full = site.task(capacity, name="Full")
    full.add_container("copier", image=site.image, memory_limit_mib=14_800)
    full.add_gpu_container("work", image=site.image)
    with pytest.raises(InvalidValueError, match="are left of the share of a host"):
        site.cluster.add_monitoring("Monitoring")
    assert site.cluster.monitoring is None


def test_jobs_and_hosts_of_other_kinds(site: Site) -> None:
    cpu, managed = site.capacity("c7i.large", name="Cpu"), site.managed(instance_types=["g6.xlarge"])
    alone = site.task(managed, name="Managed")
    alone.add_gpu_container("work", image=site.image)
    task = site.task(site.capacity("g6.xlarge", name="Gpu"), name="Gpu")
    task.add_gpu_container("work", image=site.image)
    job = GpuJob(site.stack, "Job", cluster=site.cluster, task_definition=task, timeout=cdk.Duration.hours(1))
    sizes = known(task.task.cpu), alone.task
    site.cluster.add_monitoring("Monitoring")
    assert (task.task.cpu, alone.task) == (sizes[0] - KEPT.cpu, sizes[1])
    assert job.workload.task == task.task
    assert not site.cluster.hosts.runs_daemons_on(cpu.pool)
    assert not site.cluster.hosts.runs_daemons_on(replace(managed.pool))


def test_room_is_left_for_daemons_of_ones_own_as_well(site: Site) -> None:
    task = site.task(site.capacity("g6.xlarge"))
    task.add_gpu_container("work", image=site.image)
    cpu, memory = known(task.task.cpu), known(task.task.memory_mib)
    site.cluster.leave_room_for_daemons(cpu=100, memory_mib=200)
    site.cluster.add_monitoring("Monitoring")
    assert (task.task.cpu, task.task.memory_mib) == (cpu - KEPT.cpu - 100, memory - KEPT.memory_mib - 200)
    with pytest.raises(InvalidValueError, match="expects a whole number of MiB"):
        site.cluster.leave_room_for_daemons(memory_mib=-1)

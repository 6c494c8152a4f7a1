"""What is read out of the template of a queue is what its constructs hold."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from aws_cdk import aws_ec2 as ec2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs import CapacityChoice, GpuMachineImage, HostNetwork, HostStorage, Purchase
from gpu_constructs.fleet import Pool, Task
from gpu_constructs.template import fleet_of
from tests.examples import times
from tests.jobs.batch.queues import job, queue
from tests.synthesis import Site, app_in, swallowed
from tests.template.written import read_stacks

Given = dict[str, Any]

RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
ENDS = datetime(2030, 1, 8, 11, 30, tzinfo=timezone.utc)
OWN_IMAGE = GpuMachineImage.custom(
    ec2.MachineImage.from_ssm_parameter("/golden/gpu"), driver_version="580.95.05", has_mps_service=False
)
purchases = st.sampled_from(
    [
        None,
        Purchase.spot(),
        Purchase.reservations(),
        Purchase.reservations(only=True),
        Purchase.reservations(reservation_id=RESERVATION, only=True),
        Purchase.reservations(resource_group_arn=GROUP),
        Purchase.reservations(resource_group_arn=GROUP, only=True),
        Purchase.capacity_block(RESERVATION, instances=9, ends=ENDS),
    ]
)
environments = st.fixed_dictionaries(
    {
        "instance_types": st.sampled_from(
            [["g6.xlarge"], ["g6.xlarge", "g6.2xlarge"], ["g5.12xlarge", "g5.24xlarge"], ["p5.48xlarge"]]
        ),
        "max_instances": st.integers(1, 9),
        "min_instances": st.integers(0, 1),
        "purchase": purchases,
        "image": st.sampled_from([None, GpuMachineImage.newest("al2023-gpu"), OWN_IMAGE]),
        "storage": st.none()
        | st.builds(HostStorage, prefer_cached_images=st.booleans(), scratch_on_local_disks=st.booleans()),
        "network": st.sampled_from([None, HostNetwork.efa()]),
    }
)
jobs = st.fixed_dictionaries(
    {
        "gpus": st.integers(1, 8),
        "gpu_memory_gib": st.sampled_from([None, 8, 14.5]),
        "vcpus": st.sampled_from([None, 2]),
        "memory_mib": st.sampled_from([None, 2048]),
        "shared_memory_mib": st.sampled_from([None, 128]),
        "efa": st.booleans(),
        "environment": st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from(["1", "2"]), max_size=2),
    }
)


def _built(
    site: Site, queues: list[list[dict[str, Any]]], asked: list[dict[str, Any]]
) -> tuple[list[Pool], list[Task]]:
    """What the constructs hold that the plan led to; what was refused is in neither fleet."""
    pools: list[Pool] = []
    tasks: list[Task] = []
    for number, choices in enumerate(queues):
        given_environments = [
            CapacityChoice(f"E{index}", vpc_subnets=site.one_zone, **each) for index, each in enumerate(choices)
        ]
        name = f"Queue{number}"
        with swallowed():
            made = queue(site, *given_environments, name=name)
            pools += [replace(each, name=f"{name}/{each.name}") for each in made.pools]
            for index, each in enumerate(asked):
                with swallowed():
                    task = job(site, made, f"Job{index}", **each).task
                    tasks.append(replace(task, name=f"{name}/{task.name}/Definition"))
    return pools, tasks


@settings(max_examples=times(5), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(environments, min_size=1, max_size=2), min_size=1, max_size=3), st.lists(jobs, max_size=2))
def test_what_is_read_is_what_was_built(queues: list[list[Given]], asked: list[Given]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(app_in(folder))
        pools, tasks = _built(site, queues, asked)
        read = read_stacks([site.app.synth().directory])
        found = fleet_of(read.stacks, tasks=read.tasks, remarks=read.remarks)
    assert found.remarks == ()
    # Zones are asked for only where they matter.
    assert [replace(each, zones=None) for each in found.pools] == [replace(each, zones=None) for each in pools]
    assert list(found.tasks) == tasks

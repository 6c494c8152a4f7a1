"""Jobs of a queue: their share of a host, what ends and repeats them, and which no environment runs."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match

from gpu_constructs import (
    BatchRetries,
    CapacityChoice,
    FairShares,
    GpuBatchQueue,
    GpuConstructsError,
    GpuTaskDefinition,
    HostNetwork,
)
from gpu_constructs.check.report import report_in
from gpu_constructs.rules import Severity
from tests.jobs.batch.queues import job, queue
from tests.synthesis import Ground, Properties, Site

DEFINITION = "AWS::Batch::JobDefinition"
LARGE = CapacityChoice("Large", instance_types=["g6.12xlarge"], max_instances=2)
SMALL = CapacityChoice("Small", instance_types=["g6.xlarge"], max_instances=2)


@pytest.fixture(scope="module")
def refusing(untouched: Site) -> GpuBatchQueue:
    return queue(untouched)


def asked(site: Site) -> dict[str, str]:
    found = site.only(DEFINITION)["ContainerProperties"]["ResourceRequirements"]
    return {each["Type"]: each["Value"] for each in found}


def test_a_job_gets_the_share_of_the_host_that_goes_with_its_gpus(site: Site) -> None:
    made = job(site, queue(site, LARGE), gpus=2)
    task = GpuTaskDefinition(site.stack, "Task", capacity=[site.capacity("g6.12xlarge")])
    task.add_gpu_container("work", image=site.image, gpus=2)
    (container,) = task.task.containers
    assert asked(site) == {"GPU": "2", "VCPU": "24", "MEMORY": str(container.memory_limit_mib)}
    assert made.task.wants_gpu


def test_a_job_is_sized_for_the_environments_that_have_its_gpus_and_the_check_proves_it(site: Site) -> None:
    job(site, queue(site, SMALL, LARGE), gpus=4, gpu_memory_gib=20)
    assert asked(site)["VCPU"] == "48"
    found = report_in([site.app.outdir]).findings
    assert [each.rule for each in found if each.severity is not Severity.INFO] == []


def test_a_job_has_a_time_limit_and_retries_by_cause_with_an_end(site: Site) -> None:
    retries = BatchRetries(attempts=5, exit_codes=[75, 76])
    job(site, queue(site), retries=retries, timeout=cdk.Duration.hours(6))
    found = site.only(DEFINITION)
    assert found["Timeout"] == {"AttemptDurationSeconds": 21600}
    assert found["RetryStrategy"]["Attempts"] == 5
    conditions = found["RetryStrategy"]["EvaluateOnExit"]
    assert [tuple(each.values()) for each in conditions] == [
        ("RETRY", "Host EC2*"),
        ("RETRY", "CannotPullContainerError:*"),
        ("RETRY", "75"),
        ("RETRY", "76"),
        ("EXIT", "*"),
    ]


@pytest.mark.parametrize(("program", "count"), [("python -m torch.distributed.run", 1), ("torchrun", 1), ("python", 0)])
def test_exit_codes_that_torchrun_hides_are_a_warning(site: Site, program: str, count: int) -> None:
    job(site, queue(site), retries=BatchRetries(exit_codes=[75, 137]), command=[*program.split(), "train.py"])
    found = Annotations.from_stack(site.stack).find_warning("*", Match.string_like_regexp(r"torchrun .*=\[75\]"))
    assert len(found) == count


def test_its_needs_are_in_the_metadata_and_its_shared_memory_is_half(site: Site) -> None:
    made = job(site, queue(site), gpu_memory_gib=16, environment={"EPOCHS": "3"})
    resource = made.job_definition.node.default_child
    assert isinstance(resource, cdk.CfnResource)
    assert resource.get_metadata("gpu-constructs") == {"Containers": {"default": {"GpuMemoryMib": 16384}}}
    container: Properties = site.only(DEFINITION)["ContainerProperties"]
    assert container["LinuxParameters"]["SharedMemorySize"] == int(asked(site)["MEMORY"]) // 2
    assert {each["Name"]: each["Value"] for each in container["Environment"]} == {
        "EPOCHS": "3",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    }


def test_with_efa_it_gets_the_adapters_of_its_hosts(site: Site) -> None:
    network = HostNetwork.efa()
    h100 = CapacityChoice(
        "H100", instance_types=["p5.48xlarge"], max_instances=2, network=network, vpc_subnets=site.one_zone
    )
    job(site, queue(site, h100), gpus=8, efa=True)
    assert len(site.only(DEFINITION)["ContainerProperties"]["LinuxParameters"]["Devices"]) == 32


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"gpus": 0}, None),
        ({"gpus": 0.5}, None),
        ({"gpus": "ALL"}, None),
        ({"vcpus": 0}, None),
        ({"memory_mib": 1}, None),
        ({"shared_memory_mib": 0}, None),
        ({"environment": {"AWS_BATCH_MINE": "1"}}, None),
        ({"efa": True}, None),
        ({"retries": 3}, None),
        ({"share": "research"}, None),
        ({"scheduling_priority": 10_000}, None),
        ({"timeout": 3600}, None),
        ({"gpus": 10**9}, None),
        ({"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, None),
        ({"min_compute_capability": (8, 10)}, None),
        ({"min_compute_capability": "8.9a"}, None),
        ({"gpus": 8}, "GPU061"),
        ({"memory_mib": 100_000}, "GPU061"),
        ({"vcpus": 12}, "GPU061"),
        ({"gpu_memory_gib": 40}, "GPU064"),
        ({"precision": "fp4"}, "GPU064"),
    ],
)
def test_wrong_values_of_a_job_are_refused_on_its_line_by_the_rule_that_check_uses(
    untouched: Site, refusing: GpuBatchQueue, wrong: dict[str, Any], rule: str | None
) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        job(untouched, refusing, **wrong)
    if rule is None:  # it is about one argument, and not about all that a job asks of a host
        assert refused.value.argument == next(iter(wrong))
    assert rule in {None, refused.value.rule}
    assert refused.value.fix
    assert refusing.node.try_find_child("Train") is None
    assert refusing.jobs == ()


def test_a_submission_names_no_revision_which_a_deploy_replaces(ground: Ground) -> None:
    site = ground
    words = job(site, queue(site), job_definition_name="sweep").submit_command()
    found = json.dumps(site.stack.resolve(words))
    # Of arn:aws:batch:REGION:ACCOUNT:job-definition/NAME:REVISION, the name.
    assert '{"Fn::Select": [5, {"Fn::Split": [":", {"Ref": "QueueTrainDefinition0461A211"}]}]}' in found


def test_in_a_queue_with_shares_a_job_counts_against_one(site: Site) -> None:
    made = queue(site, shares=FairShares(shares={"research": 1}))
    job(site, made, "Evaluate", share="research")
    found = job(site, made, share="research", scheduling_priority=3)
    assert found.submit_command("nightly-1").endswith("--share-identifier research")
    # Without a priority, AWS Batch refuses the job.
    assert [each["SchedulingPriority"] for each in site.properties(DEFINITION)] == [0, 3]
    with pytest.raises(GpuConstructsError, match="counts against one"):
        job(site, made)
    with pytest.raises(GpuConstructsError, match=r"the queue has no share 'b'.*research"):
        job(site, made, share="b")

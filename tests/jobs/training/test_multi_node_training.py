"""Trainings over several hosts: what a template gets, and which no queue can hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    BatchRetries,
    CapacityChoice,
    FairShares,
    GpuBatchQueue,
    GpuConstructsError,
    HostNetwork,
    JobData,
    MultiNodeTraining,
    Purchase,
    TrainingLauncher,
)
from gpu_constructs.check.report import report_in
from gpu_constructs.rules import Severity
from gpu_constructs.template import fleet_of
from tests.jobs.batch.queues import hosts, queue, train
from tests.synthesis import Ground, Properties, Site
from tests.template.written import read_stacks

BLOCK = "cr-0123456789abcdef0"
STARTS, ENDS = (datetime(2030, 1, day, 11, 30, tzinfo=timezone.utc) for day in (7, 8))


@pytest.fixture(scope="module")
def made(shared_site: Site) -> list[MultiNodeTraining]:
    """Trainings of three queues in one app, in the order of their definition."""
    site = shared_site
    bucket = s3.Bucket(site.stack, "Bucket")
    files = efs.FileSystem(site.stack, "Files", vpc=site.vpc, encrypted=True)
    usual = hosts(site)
    files.connections.allow_default_port_from(usual.hosts.security_group)
    chosen = train(
        site,
        usual,
        "Chosen",
        reads={"DATA": JobData.s3(bucket, prefix="data/")},
        writes={"RESULTS": JobData.s3(bucket, prefix="results/")},
        checkpoints=JobData.directory("/shared/checkpoints"),
        volumes=[batch.EcsVolume.host(name="shared", container_path="/shared", host_path="/mnt/lustre"), of(files)],
        environment={"SEED": "1", "NCCL_SOCKET_IFNAME": "eth0"},
    )
    files.grant_root_access(chosen.job_role)
    efa = hosts(site, "p5.48xlarge", name="EfaQueue", network=HostNetwork.efa())
    shares = hosts(site, name="SharedQueue", shares=FairShares(shares={"research": 1}))
    return [
        chosen,
        train(site, usual, "Plain"),
        train(site, efa, "Efa", gpu_memory_gib=60),
        train(site, shares, "Share", share="research"),
    ]


def of(files: efs.FileSystem, *, with_role: bool = True) -> batch.EcsVolume:
    return batch.EcsVolume.efs(
        name="files",
        container_path="/files",
        file_system=files,
        use_job_role=with_role,
        enable_transit_encryption=with_role,
    )


@pytest.fixture(scope="module")
def template(shared_site: Site, made: list[MultiNodeTraining]) -> Properties:
    """Properties of resources, by the construct in the stack and the last word of their type."""
    named = [each.node.id for each in made] + ["Queue", "EfaQueue", "SharedQueue"]
    return {
        f"{construct} {each['Type'].rpartition('::')[2]}": each["Properties"]
        for construct in named
        for key, each in shared_site.template()["Resources"].items()
        if key.startswith(construct)
    }


def container(template: Properties, name: str) -> Properties:
    (nodes,) = template[f"{name} JobDefinition"]["NodeProperties"]["NodeRangeProperties"]
    found: Properties = nodes["Container"]
    return found


def variables(template: Properties, name: str) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container(template, name)["Environment"]}


def test_a_training_has_whole_hosts_of_the_one_type_of_its_queue(template: Properties) -> None:
    found, of_node = template["Plain JobDefinition"], container(template, "Plain")
    assert (found["Type"], found["Timeout"]) == ("multinode", {"AttemptDurationSeconds": 86400})
    assert (found["NodeProperties"]["NumNodes"], found["NodeProperties"]["MainNode"]) == (4, 0)
    assert found["RetryStrategy"]["Attempts"] == 3
    asked = {each["Type"]: each["Value"] for each in of_node["ResourceRequirements"]}
    assert (asked["GPU"], asked["VCPU"], of_node["InstanceType"]) == ("4", "48", "g6.12xlarge")


def test_a_training_is_tried_again_after_the_loss_of_any_host_and_nothing_else(template: Properties) -> None:
    conditions = template["Plain JobDefinition"]["RetryStrategy"]["EvaluateOnExit"]
    assert [tuple(each.values()) for each in conditions] == [
        ("RETRY", "Host EC2*"),
        ("RETRY", "CannotPullContainerError:*"),
        ("RETRY", "113"),
        ("EXIT", "*"),
    ]


def test_in_a_queue_with_shares_a_training_has_a_priority_without_which_aws_batch_refuses_it(
    template: Properties,
) -> None:
    assert template["Share JobDefinition"]["SchedulingPriority"] == 0


def test_hosts_and_containers_reach_each_other_and_nothing_else_reaches_them(
    shared_site: Site, template: Properties
) -> None:
    # Two trainings are in the queue.
    resources = template["Queue ComputeEnvironment"]["ComputeResources"]
    (group,) = resources["SecurityGroupIds"]
    rules = [each for each in shared_site.properties("AWS::EC2::SecurityGroupIngress") if each["GroupId"] == group]
    assert [each["SourceSecurityGroupId"] for each in rules] == [group]
    assert "PlacementGroup" in resources


def test_hosts_with_efa_give_their_adapters_to_the_container(template: Properties) -> None:
    assert len(container(template, "Efa")["LinuxParameters"]["Devices"]) == 32
    assert variables(template, "Efa")["FI_PROVIDER"] == "efa"
    assert "SecurityGroupIds" not in template["EfaQueue ComputeEnvironment"]["ComputeResources"]


def test_a_training_is_told_its_places_and_may_use_them(shared_site: Site, template: Properties) -> None:
    found = variables(template, "Chosen")
    assert (found["JOB_CHECKPOINTS"], found["SEED"], found["NCCL_SOCKET_IFNAME"]) == (
        "/shared/checkpoints/StackChosenE5758FC8/",
        "1",
        "eth0",
    )
    assert {"DATA", "RESULTS"} <= found.keys()
    policies = str(shared_site.properties("AWS::IAM::Policy"))
    assert "results/*" in policies
    assert "data/*" in policies


def test_trainings_are_read_back_as_they_were_built_and_nothing_is_found(
    shared_site: Site, made: list[MultiNodeTraining]
) -> None:
    directory = shared_site.app.synth().directory
    read = read_stacks([directory])
    found = fleet_of(read.stacks, tasks=read.tasks, remarks=read.remarks)
    assert list(found.tasks) == [replace(each.task, name=f"{each.node.id}/Definition") for each in made]
    assert [each.severity for each in report_in([directory]).findings if each.severity is not Severity.INFO] == []


def test_hosts_with_efa_are_in_the_default_group_which_cdk_may_have_emptied(site: Site) -> None:
    vpc = ec2.Vpc(site.stack, "Restricted", max_azs=1, restrict_default_security_group=True)
    choice = CapacityChoice("Hosts", instance_types=["p5.48xlarge"], max_instances=4, network=HostNetwork.efa())
    train(site, GpuBatchQueue(site.stack, "Queue", vpc=vpc, environments=[choice]))
    found = [
        each.rule for each in report_in([site.app.synth().directory]).findings if each.severity is not Severity.INFO
    ]
    assert found == ["GPU347"]


@pytest.fixture(scope="module")
def queues() -> dict[str, GpuBatchQueue]:
    """One for the same environment, since a training that is refused leaves nothing in it."""
    return {}


SPOT = Purchase.spot()
MINUTES = cdk.Duration.minutes(10)
FOREVER = cdk.Duration.hours(30)


@pytest.mark.parametrize(
    ("environment", "asked", "says"),
    [
        (
            {},
            {"hosts": 5},
            "Train starts on 5 hosts at once, and Hosts has 4 at most.*fix: max_instances=5, or hosts=4",
        ),
        ({}, {"hosts": 1001}, "1 to 1000; fix: hosts=1000"),
        ({"instance_types": ["trn1.32xlarge"]}, {}, "^queue: .* trn1.32xlarge has none that AWS Batch hands out"),
        (
            {"instance_types": ["g6.12xlarge", "g5.12xlarge"]},
            {},
            "of one type, and Hosts has g6.12xlarge and g5.12xlarge; allowed: g6.12xlarge or g5.12xlarge",
        ),
        (
            {"purchase": SPOT, "network": None},
            {},
            "multi-node job.*; allowed: hosts on demand or bought in advance; fix: a CapacityChoice without Spot hosts",
        ),
        ({"vpc_subnets": None, "network": None}, {}, "in one Availability Zone, and the subnets of Hosts are in 2"),
        ({}, {"gpus": 8}, "GPU"),
        ({}, {"efa": True}, r"no Elastic Fabric Adapter; fix: the capacity with network=HostNetwork.efa\(\)"),
        ({}, {"gpu_memory_gib": 80}, "gpu_memory_gib: Train needs 80 GiB of memory"),
        ({}, {"environment": {"AWS_BATCH_X": "1"}}, "AWS_BATCH"),
        ({}, {"command": "train.py 3"}, r"command: .*; fix: \['train.py', '3'\]$"),
        ({}, {"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "environment: Train sets NVIDIA_VISIBLE_DEVICES"),
        ({}, {"checkpoints": "/checkpoints"}, "JobData"),
        ({}, {"checkpoints": JobData.directory("/shared/checkpoints")}, "/shared/checkpoints/ is in none of the vol"),
        ({}, {"command": []}, "names nothing to start"),
        ({}, {"command": ["python3.11", "train.py"]}, r"torchrun, which takes .* fix: what it starts and its"),
        ({}, {"command": ["--nnodes=4", "t.py", "-x"]}, r"fix: command=\['t.py', '-x'\]$"),
        ({}, {"command": ["accelerate", "launch", "t.py"]}, "begins with 'accelerate'"),
        ({}, {"command": ["--node_rank", "0", "--role=a", "t.py"]}, r"fix: command=\['--role=a', 't.py'\]$"),
        ({}, {"command": ["--standalone", "t.py"]}, r"has --standalone, .* hosts there are; fix: command=\['t.py'\]$"),
        ({}, {"command": ["bash", "-c", "python t.py"]}, "begins with 'bash', .* fix: what it starts and its"),
        ({}, {"command": ["uv", "run", "t.py"]}, "begins with 'uv'"),
        ({}, {"command": ["t.py --epochs 3"]}, r"several words in one .* fix: command=\['t.py', '--epochs', '3'\]$"),
        (
            {},
            {"command": ["mpirun", "train"], "launcher": TrainingLauncher.mpi()},
            "mpi, which takes a program and its",
        ),
        ({}, {"launcher": TrainingLauncher.torchrun(processes_per_host=8)}, "8 processes on each host, which has 4"),
        (
            {},
            {"launcher": TrainingLauncher.torchrun(join_within=cdk.Duration.hours(1)), "timeout": MINUTES},
            "hosts wait 3600 seconds for each other, and an attempt ends after 600",
        ),
        ({}, {"retries": BatchRetries(exit_codes=[75])}, "torchrun ends with 1 whatever its script ends with"),
        (
            {},
            {"launcher": TrainingLauncher.jax(), "retries": BatchRetries(exit_codes=[75, 76])},
            "one condition of a training is for hosts that are lost",
        ),
        ({}, {"share": "research"}, "no shares"),
        ({}, {"queue": "Queue"}, "expects a GpuBatchQueue"),
        (
            {
                "purchase": Purchase.capacity_block(BLOCK, instances=4, starts=STARTS, ends=ENDS),
                "instance_types": ["p5.48xlarge"],
                "network": HostNetwork.efa(),
            },
            {"timeout": FOREVER},
            "an attempt may take 1800 minutes, and the Capacity Block of Hosts is there for 1395",
        ),
    ],
)
def test_a_gang_that_cannot_start_or_end_is_refused_on_the_line(
    untouched: Site, queues: dict[str, GpuBatchQueue], environment: dict[str, Any], asked: dict[str, Any], says: str
) -> None:
    types: list[str] = environment.get("instance_types", [])
    others = {name: value for name, value in environment.items() if name != "instance_types"}
    key = str(environment)
    if key not in queues:
        queues[key] = hosts(untouched, *types, name=f"Queue{len(queues)}", **others)
    with pytest.raises(GpuConstructsError, match=says):
        train(untouched, queues[key], **asked)
    assert untouched.stack.node.try_find_child("Train") is None


def test_every_environment_of_the_queue_holds_the_gang(ground: Ground) -> None:
    few, many = (
        CapacityChoice(name, instance_types=["g6.12xlarge"], max_instances=most, vpc_subnets=ground.one_zone)
        for name, most in (("Few", 2), ("Many", 4))
    )
    made = queue(ground, many, few)
    with pytest.raises(GpuConstructsError, match="4 hosts at once, and Few has 2 at most"):
        train(ground, made)

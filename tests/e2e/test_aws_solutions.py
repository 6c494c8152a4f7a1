"""An app of this library is clean under cdk-nag's AwsSolutions pack, and users keep every finding of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from gpu_constructs import (
    GpuCluster,
    GpuConstructsError,
    GpuJob,
    GpuService,
    GpuTaskDefinition,
    HostNetwork,
    JobData,
    ModelCache,
    ModelServer,
    acknowledge_aws_solutions,
)

from tests.synthesis import app_in

_IMAGE = ecs.ContainerImage.from_registry("vllm/vllm-openai")
_HTTP: dict[str, Any] = {"protocol": elbv2.ApplicationProtocol.HTTP, "health_check_path": "/health"}


class Nagged:
    """An app with the pack, one stack in it and the acknowledgements, given before anything is defined."""

    def __init__(self, folder: Path, *, acknowledged: bool = True, staged: bool = False) -> None:
        self._folder = folder
        self.app = app_in(folder)
        cdk.Validations.of(self.app).add_plugins(cdk_nag.AwsSolutionsChecks())
        if acknowledged:
            acknowledge_aws_solutions(self.app)
        self.stack = cdk.Stack(cdk.Stage(self.app, "Production") if staged else self.app, "Chat")
        # Its flow logs are its owner's decision, and they are not in this stack.
        self.vpc = ec2.Vpc.from_vpc_attributes(
            self.stack,
            "Vpc",
            vpc_id="vpc-1",
            vpc_cidr_block=cdk.Fn.import_value("cidr"),
            availability_zones=["a", "b"],
            private_subnet_ids=["subnet-1", "subnet-2"],
            public_subnet_ids=["subnet-3", "subnet-4"],
        )
        self.cluster = GpuCluster(self.stack, "Cluster", vpc=self.vpc)

    def task(self, name: str, *capacity: Any) -> GpuTaskDefinition:
        return GpuTaskDefinition(self.stack, name, capacity=list(capacity))

    def service(self, name: str, task: GpuTaskDefinition, **options: Any) -> GpuService:
        return GpuService(self.stack, name, cluster=self.cluster, task_definition=task, **options)

    def findings(self) -> set[tuple[str, str]]:
        """Rules of the pack, each with the path of a resource below the stack."""
        report = self._folder / "validation-report.json"
        if not report.exists():
            try:
                self.app.synth()
            except RuntimeError as error:
                assert "Validation" in str(error)  # noqa: PT017 - how CDK ends on any finding
        reports = json.loads(report.read_text())["pluginReports"]
        (found,) = (each["violations"] for each in reports if each["pluginName"] == "AwsSolutions")
        return {
            (each["ruleName"].removeprefix("AwsSolutions-"), resource["constructPath"].partition("Chat/")[2])
            for each in found
            for resource in each["violatingConstructs"]
        }


def everything(nagged: Nagged) -> None:
    l4 = nagged.cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=8)
    nagged.cluster.add_capacity("One", instance_types=["g6.xlarge"], max_instances=2)
    zone = ec2.SubnetSelection(availability_zones=["a"])
    p5 = nagged.cluster.add_capacity(
        "P5", instance_types=["p5.48xlarge"], max_instances=2, network=HostNetwork.efa(), vpc_subnets=zone
    )
    training = nagged.task("Train", p5)
    training.add_gpu_container("train", image=_IMAGE, gpus=8, efa=True)
    managed = nagged.task("Managed", nagged.cluster.add_managed_capacity("Hosts", instance_types=["g6.xlarge"]))
    repository = ecr.Repository.from_repository_name(nagged.stack, "Repository", "chat")
    managed.add_gpu_container("vllm", image=ecs.ContainerImage.from_ecr_repository(repository), gpus=1)
    nagged.service("ManagedService", managed)
    files = efs.FileSystem.from_file_system_attributes(
        nagged.stack,
        "Files",
        file_system_id="fs-1",
        security_group=ec2.SecurityGroup.from_security_group_id(nagged.stack, "OfFiles", "sg-1"),
    )
    served = nagged.task("Served", l4)
    served.add_model_server(
        "vllm", server=ModelServer.vllm(model="Qwen/Qwen2.5-7B-Instruct"), cache=ModelCache.efs(files)
    )
    job = GpuJob(nagged.stack, "Job", cluster=nagged.cluster, task_definition=served, timeout=cdk.Duration.hours(1))
    job.run_on_schedule("Nightly", schedule=scheduler.ScheduleExpression.rate(cdk.Duration.days(1)))
    scenes, failed = (
        sqs.Queue.from_queue_arn(nagged.stack, name, f"arn:aws:sqs:us-east-1:111122223333:{name}")
        for name in ("Scenes", "Failed")
    )
    job.run_from_queue("Queued", queue=scenes, dead_letter_queue=failed)
    service = nagged.service("Service", served)
    service.add_application_load_balancer("Http", protocol=elbv2.ApplicationProtocol.HTTP)
    service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
    operators = sns.Topic(nagged.stack, "Operators", enforce_ssl=True)
    nagged.cluster.add_monitoring("Monitoring", notify=operators).add_recovery()


def test_the_first_example_is_clean_in_a_stage_too(tmp_path: Path) -> None:
    nagged = Nagged(tmp_path, staged=True)
    l4 = nagged.cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=8)
    chat = nagged.task("Task", l4)
    chat.add_gpu_container("vllm", image=_IMAGE, gpus=1, gpu_memory_gib=16)
    nagged.service("Service", chat, desired_count=2)
    assert nagged.findings() == set()


@pytest.fixture(scope="module")
def acknowledging(tmp_path_factory: pytest.TempPathFactory) -> Nagged:
    """An app with everything in it, whose pack runs once."""
    nagged = Nagged(tmp_path_factory.mktemp("acknowledged"))
    everything(nagged)
    return nagged


def test_what_a_user_decides_is_all_that_is_found(acknowledging: Nagged) -> None:
    assert acknowledging.findings() == {
        ("ELB2", "Service/Http/LoadBalancer/Resource"),
        ("ELB2", "Service/Tcp/LoadBalancer/Resource"),
    }


def test_the_data_of_a_job_is_not_found_and_what_its_task_may_do_elsewhere_is(tmp_path: Path) -> None:
    nagged = Nagged(tmp_path)
    task = nagged.task("Train", nagged.cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1))
    task.add_gpu_container("train", image=_IMAGE, gpus=1)
    mine, other = (s3.Bucket.from_bucket_name(nagged.stack, name, name) for name in ("mine", "other"))
    places = {"RESULTS": JobData.s3(mine, prefix="results/")}
    limit = cdk.Duration.hours(1)
    GpuJob(nagged.stack, "Job", cluster=nagged.cluster, task_definition=task, timeout=limit, writes=places)
    other.grant_delete(task.task_role)
    assert {rule for rule, _ in nagged.findings()} == {
        "IAM5[Action::s3:DeleteObject*]",
        "IAM5[Resource::arn:<AWS::Partition>:s3:::other/*]",
    }


def test_what_users_add_is_found(tmp_path: Path) -> None:
    nagged = Nagged(tmp_path)
    l4 = nagged.cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    everything_of_s3 = iam.PolicyStatement(actions=["s3:GetObject"], resources=["*"])
    nagged.cluster.host_role.add_to_policy(everything_of_s3)
    task = nagged.task("Task", l4)
    container = task.add_gpu_container("vllm", image=_IMAGE, environment={"HF_TOKEN": "hf_1"})
    container.add_port_mappings(ecs.PortMapping(container_port=8000))
    task.add_to_task_role_policy(everything_of_s3)
    service = nagged.service("Service", task, enable_execute_command=True)
    service.add_application_load_balancer("Public", internet_facing=True, **_HTTP)
    plain = ecs.Ec2TaskDefinition(nagged.stack, "Plain")
    plain.add_container("web", image=_IMAGE, memory_limit_mib=64, environment={"NVIDIA_DRIVER_CAPABILITIES": "all"})
    assert nagged.findings() == {
        ("EC23", "Service/Public/LoadBalancer/SecurityGroup/Resource"),
        ("ECS2", "Plain/Resource"),
        ("ECS2", "Task/Resource"),
        ("ECS7", "Plain/Resource"),
        ("ELB2", "Service/Public/LoadBalancer/Resource"),
        ("IAM5[Resource::*]", "Cluster/HostRole/DefaultPolicy/Resource"),
        ("IAM5[Resource::*]", "Task/TaskRole/DefaultPolicy/Resource"),
    }


def test_every_acknowledgement_is_needed(tmp_path: Path, acknowledging: Nagged) -> None:
    bare = Nagged(tmp_path, acknowledged=False)
    everything(bare)
    found = bare.findings() - acknowledging.findings()
    reasons = acknowledged(acknowledging.app)
    given = {
        (rule.removeprefix("AwsSolutions::AwsSolutions-"), path.partition("Chat/")[2]) for path, rule, _ in reasons
    }
    assert given == found
    assert all(len(reason) > 40 for _, _, reason in reasons)


def acknowledged(app: cdk.App) -> list[tuple[str, str, str]]:
    return [
        (each.node.path, rule, reason)
        for each in app.node.find_all()
        for entry in each.node.metadata
        if entry.type == cdk.Validations.ACKNOWLEDGED_RULES_METADATA_KEY
        for rule, reason in entry.data.items()
    ]


def test_ecs_exec_with_a_log_group_is_clean(tmp_path: Path) -> None:
    nagged = Nagged(tmp_path)
    nagged.cluster = GpuCluster(
        nagged.stack,
        "Watched",
        vpc=nagged.vpc,
        execute_command_configuration=ecs.ExecuteCommandConfiguration(
            logging=ecs.ExecuteCommandLogging.OVERRIDE,
            log_configuration=ecs.ExecuteCommandLogConfiguration(
                cloud_watch_log_group=logs.LogGroup(nagged.stack, "Shells")
            ),
        ),
    )
    task = nagged.task("Task", nagged.cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1))
    task.add_gpu_container("vllm", image=_IMAGE)
    nagged.service("Service", task, enable_execute_command=True)
    assert nagged.findings() == set()


@pytest.mark.parametrize("scope", [cdk.App, "app"])
def test_what_is_no_construct_is_refused(scope: Any) -> None:
    with pytest.raises(GpuConstructsError, match=r"scope: expects a constructs.Construct, got "):
        acknowledge_aws_solutions(scope)

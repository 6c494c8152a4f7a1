"""Sixteen configurations that CDK synthesizes without a word, and what this library says about each of them.

They are built in plain CDK, without a construct of ours, and read from the assembly that ``app.synth()`` wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs.check.report import check_files
from gpu_constructs.rules import Severity
from tests.synthesis import app_in

X86_GPU = ecs.AmiHardwareType.GPU
STANDARD = ecs.AmiHardwareType.STANDARD


class Plain:
    """A stack with a cluster, made of nothing but CDK's own constructs."""

    def __init__(self, stack: cdk.Stack) -> None:
        self.stack = stack
        self.vpc = ec2.Vpc(stack, "Vpc", restrict_default_security_group=False)
        self.cluster = ecs.Cluster(stack, "Cluster", vpc=self.vpc)

    def capacity(
        self, *types: str, image: ecs.EcsOptimizedImage | None = None, name: str = "Capacity"
    ) -> ecs.AsgCapacityProvider:
        template = ec2.LaunchTemplate(
            self.stack,
            f"{name}Template",
            instance_type=ec2.InstanceType(types[0]),
            machine_image=image or ecs.EcsOptimizedImage.amazon_linux2023(X86_GPU),
            user_data=ec2.UserData.for_linux(),
            role=cdk.aws_iam.Role(
                self.stack, f"{name}Role", assumed_by=cdk.aws_iam.ServicePrincipal("ec2.amazonaws.com")
            ),
        )
        several = autoscaling.MixedInstancesPolicy(
            launch_template=template,
            launch_template_overrides=[
                autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(each)) for each in types
            ],
        )
        group = autoscaling.AutoScalingGroup(
            self.stack,
            f"{name}Group",
            vpc=self.vpc,
            min_capacity=0,
            max_capacity=2,
            launch_template=None if len(types) > 1 else template,
            mixed_instances_policy=several if len(types) > 1 else None,
        )
        provider = ecs.AsgCapacityProvider(self.stack, name, auto_scaling_group=group)
        self.cluster.add_asg_capacity_provider(provider)
        return provider

    def service(
        self,
        provider: ecs.AsgCapacityProvider,
        *,
        gpus: int = 1,
        memory_mib: int = 1024,
        expression: str | None = None,
    ) -> None:
        task = ecs.Ec2TaskDefinition(
            self.stack,
            "Task",
            placement_constraints=[ecs.PlacementConstraint.member_of(expression)] if expression else None,
        )
        task.add_container(
            "work",
            image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"),
            gpu_count=gpus,
            memory_limit_mib=memory_mib,
        )
        ecs.Ec2Service(
            self.stack,
            "Service",
            cluster=self.cluster,
            task_definition=task,
            min_healthy_percent=0,
            max_healthy_percent=200,
            capacity_provider_strategies=[
                ecs.CapacityProviderStrategy(capacity_provider=provider.capacity_provider_name, weight=1)
            ],
        )


def arm_under_an_x86_image(plain: Plain) -> None:
    plain.service(plain.capacity("g5g.xlarge"))


def no_driver_in_the_image(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge", image=ecs.EcsOptimizedImage.amazon_linux2023(STANDARD)))


def eight_gpus_on_a_host_with_one(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge"), gpus=8)


def less_than_no_gpu(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge"), gpus=-1)  # CDK writes an empty list


def a_gpu_on_a_host_without(plain: Plain) -> None:
    plain.service(plain.capacity("t3.micro"))


def a_terabyte_on_sixteen_gib(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge"), memory_mib=1024 * 1024)


def a_type_that_does_not_exist(plain: Plain) -> None:
    plain.service(plain.capacity("g5.gigantic"))


def neuron_under_an_nvidia_image(plain: Plain) -> None:
    plain.service(plain.capacity("inf2.xlarge"))


def a_type_of_2017(plain: Plain) -> None:
    plain.service(plain.capacity("p3.2xlarge"))


def an_image_past_its_end(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge", image=ecs.EcsOptimizedImage.amazon_linux2(X86_GPU)))


def an_expression_that_cannot_be_read(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge"), expression="attribute:ecs.instance-typ =~ ((")


def a_constraint_on_another_family(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge"), expression="attribute:ecs.instance-type == p4d.24xlarge")


def a_gpu_on_fargate(plain: Plain) -> None:
    task = ecs.FargateTaskDefinition(plain.stack, "Task", cpu=1024, memory_limit_mib=4096)
    task.add_container("work", image=ecs.ContainerImage.from_registry("nvidia/cuda"), gpu_count=1)
    ecs.FargateService(plain.stack, "Service", cluster=plain.cluster, task_definition=task, min_healthy_percent=100)


def managed_instances_that_cannot_be(plain: Plain) -> None:
    provider = ecs.ManagedInstancesCapacityProvider(
        plain.stack,
        "Managed",
        subnets=plain.vpc.private_subnets,
        security_groups=[ec2.SecurityGroup(plain.stack, "Group", vpc=plain.vpc)],
        instance_requirements=ec2.InstanceRequirementsConfig(
            v_cpu_count_min=4,
            memory_min=cdk.Size.gibibytes(16),
            accelerator_names=[ec2.AcceleratorName.T4],
            accelerator_manufacturers=[ec2.AcceleratorManufacturer.AMD],
            accelerator_count_max=1,
        ),
    )
    plain.cluster.add_managed_instances_capacity_provider(provider)
    task = ecs.TaskDefinition(
        plain.stack, "Task", compatibility=ecs.Compatibility.MANAGED_INSTANCES, cpu="4096", memory_mib="16384"
    )
    task.add_container("work", image=ecs.ContainerImage.from_registry("nvidia/cuda"), gpu_count=8)
    ecs.FargateService(
        plain.stack,
        "Service",
        cluster=plain.cluster,
        task_definition=task,
        min_healthy_percent=100,
        capacity_provider_strategies=[
            ecs.CapacityProviderStrategy(capacity_provider=provider.capacity_provider_name, weight=1)
        ],
    )


def everything_in_one_group(plain: Plain) -> None:
    plain.service(plain.capacity("g5.xlarge", "g5g.xlarge", "c7i.xlarge", "inf2.xlarge"))


def a_job_that_no_environment_holds(plain: Plain) -> None:
    environment = batch.ManagedEc2EcsComputeEnvironment(
        plain.stack,
        "Environment",
        vpc=plain.vpc,
        instance_types=[ec2.InstanceType("g5.xlarge")],
        use_optimal_instance_classes=False,
    )
    batch.JobQueue(
        plain.stack,
        "Queue",
        compute_environments=[batch.OrderedComputeEnvironment(compute_environment=environment, order=1)],
    )
    batch.EcsJobDefinition(
        plain.stack,
        "Job",
        container=batch.EcsEc2ContainerDefinition(
            plain.stack,
            "Work",
            image=ecs.ContainerImage.from_registry("nvidia/cuda"),
            cpu=64,
            memory=cdk.Size.gibibytes(900),
            gpu=8,
        ),
    )


CASES: tuple[tuple[Callable[[Plain], None], Severity, str, str], ...] = (
    (arm_under_an_x86_image, Severity.ERROR, "GPU052", "arm64"),
    (no_driver_in_the_image, Severity.ERROR, "GPU052", "driver"),
    (eight_gpus_on_a_host_with_one, Severity.ERROR, "GPU060", "8"),
    (less_than_no_gpu, Severity.WARNING, "GPU025", "no container of"),
    (a_gpu_on_a_host_without, Severity.ERROR, "GPU060", "t3.micro"),
    (a_terabyte_on_sixteen_gib, Severity.ERROR, "GPU060", "1048576 MiB"),
    (a_type_that_does_not_exist, Severity.ERROR, "GPU050", "g5.gigantic"),
    (neuron_under_an_nvidia_image, Severity.ERROR, "GPU052", "inf2.xlarge"),
    (a_type_of_2017, Severity.WARNING, "GPU001", "only your account shows"),
    (an_image_past_its_end, Severity.WARNING, "GPU003", "2026-06-30"),
    (an_expression_that_cannot_be_read, Severity.ERROR, "GPU040", "column"),
    (a_constraint_on_another_family, Severity.ERROR, "GPU070", "p4d.24xlarge"),
    (a_gpu_on_fargate, Severity.ERROR, "GPU028", "Fargate"),
    (managed_instances_that_cannot_be, Severity.ERROR, "GPU100", "amd"),
    (everything_in_one_group, Severity.ERROR, "GPU052", "arm64"),
    (a_job_that_no_environment_holds, Severity.ERROR, "GPU061", "8"),
)


@pytest.mark.parametrize(("build", "severity", "rule", "words"), CASES, ids=[case[0].__name__ for case in CASES])
def test_it_is_found_with_its_mechanism(
    build: Callable[[Plain], None], severity: Severity, rule: str, words: str, tmp_path: Path
) -> None:
    app = app_in(tmp_path)
    build(Plain(cdk.Stack(app, "Stack")))
    findings = check_files([app.synth().directory]).findings
    named = [each for each in findings if each.rule == rule and words in f"{each.message} {each.fix}"]
    assert named, "\n".join(f"{each.rule} {each.message} | {each.fix}" for each in findings)
    assert {each.severity for each in named} == {severity}
    assert named[0].origin is not None
    assert named[0].origin.file is not None


@pytest.mark.parametrize(
    "build", [case[0] for case in CASES if case[1] is Severity.WARNING], ids=lambda build: build.__name__
)
def test_what_only_may_not_work_is_no_error(build: Callable[[Plain], None], tmp_path: Path) -> None:
    app = app_in(tmp_path)
    build(Plain(cdk.Stack(app, "Stack")))
    assert [each for each in check_files([app.synth().directory]).findings if each.severity is Severity.ERROR] == []


def test_there_are_sixteen_of_them() -> None:
    assert len(CASES) == 16

"""Configurations that CDK synthesizes without a word, and what this library says about each of them.

They are built in plain CDK, without a construct of ours, and read from the assembly that ``app.synth()`` wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def on(*types: str, image: ecs.EcsOptimizedImage | None = None, **service: Any) -> Callable[[Plain], None]:
    return lambda plain: plain.service(plain.capacity(*types, image=image), **service)


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
    task.add_container("work", image=ecs.ContainerImage.from_registry("pytorch/pytorch"), gpu_count=8)
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
            image=ecs.ContainerImage.from_registry("pytorch/pytorch"),
            cpu=64,
            memory=cdk.Size.gibibytes(900),
            gpu=8,
        ),
    )


ERROR, WARNING = Severity.ERROR, Severity.WARNING
STANDARD_IMAGE = ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.STANDARD)
OTHER_FAMILY = "attribute:ecs.instance-type == p4d.24xlarge"
CASES: dict[str, tuple[Callable[[Plain], None], Severity, str, str]] = {
    "arm under an x86 image": (on("g5g.xlarge"), ERROR, "GPU052", "arm64"),
    "no driver in the image": (on("g5.xlarge", image=STANDARD_IMAGE), ERROR, "GPU052", "driver"),
    "eight GPUs on a host with one": (on("g5.xlarge", gpus=8), ERROR, "GPU060", "8"),
    # CDK writes an empty list.
    "less than no GPU": (on("g5.xlarge", gpus=-1), WARNING, "GPU025", "no container of"),
    "a GPU on a host without": (on("t3.micro"), ERROR, "GPU060", "t3.micro"),
    "a terabyte on 16 GiB": (on("g5.xlarge", memory_mib=1024 * 1024), ERROR, "GPU060", "1048576 MiB"),
    "a type that does not exist": (on("g5.gigantic"), ERROR, "GPU050", "g5.gigantic"),
    "Neuron under an NVIDIA image": (on("inf2.xlarge"), ERROR, "GPU052", "inf2.xlarge"),
    "a type of 2017": (on("p3.2xlarge"), WARNING, "GPU001", "only your account shows"),
    "an image past its end": (
        on("g5.xlarge", image=ecs.EcsOptimizedImage.amazon_linux2(X86_GPU)),
        WARNING,
        "GPU003",
        "2026-06-30",
    ),
    "an expression that cannot be read": (
        on("g5.xlarge", expression="attribute:ecs.instance-typ =~ (("),
        ERROR,
        "GPU040",
        "column",
    ),
    "another family": (on("g5.xlarge", expression=OTHER_FAMILY), ERROR, "GPU070", "p4d.24xlarge"),
    "managed instances that cannot be": (managed_instances_that_cannot_be, ERROR, "GPU100", "amd"),
    "everything in one group": (on("g5.xlarge", "g5g.xlarge", "c7i.xlarge", "inf2.xlarge"), ERROR, "GPU052", "arm64"),
    "a job that no environment holds": (a_job_that_no_environment_holds, ERROR, "GPU061", "8"),
}


@pytest.mark.parametrize(("build", "severity", "rule", "words"), CASES.values(), ids=CASES)
def test_it_is_found_with_its_mechanism_and_what_only_may_not_work_is_no_error(
    build: Callable[[Plain], None], severity: Severity, rule: str, words: str, tmp_path: Path
) -> None:
    app = app_in(tmp_path)
    build(Plain(cdk.Stack(app, "Stack")))
    findings = check_files([app.synth().directory]).findings
    named = [each for each in findings if each.rule == rule and words in f"{each.message} {each.fix}"]
    assert named, "\n".join(f"{each.rule} {each.message} | {each.fix}" for each in findings)
    assert {each.severity for each in named} == {severity}
    assert (ERROR in {each.severity for each in findings}) is (severity is ERROR)
    assert named[0].origin is not None
    assert named[0].origin.file is not None

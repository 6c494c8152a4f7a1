"""What CDK writes for runs of tasks, other than services, is read back, with the files of its assets."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ecs_patterns as patterns
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as sfn_tasks

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.fleet import Starter

RATE = cdk.Duration.hours(1)
IN_FILE = {
    "StartAt": "Train",
    "States": {
        "Train": {
            "Type": "Task",
            "Resource": "arn:aws:states:::ecs:runTask.sync",
            "Parameters": {"Cluster": "${cluster}", "TaskDefinition": "${task}", "LaunchType": "EC2"},
            "End": True,
        }
    },
}


class Runs(cdk.Stack):
    """A cluster from zero, and one task that is run in every way that CDK has."""

    def __init__(self, scope: cdk.App, construct_id: str, folder: Path) -> None:
        super().__init__(scope, construct_id)
        vpc = ec2.Vpc(self, "Vpc", max_azs=1, nat_gateways=0, restrict_default_security_group=False)
        cluster = ecs.Cluster(self, "Cluster", vpc=vpc)
        template = ec2.LaunchTemplate(
            self,
            "Template",
            instance_type=ec2.InstanceType("g6.xlarge"),
            machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU),
            user_data=ec2.UserData.for_linux(),
            role=cdk.aws_iam.Role(self, "Role", assumed_by=cdk.aws_iam.ServicePrincipal("ec2.amazonaws.com")),
            security_group=ec2.SecurityGroup(self, "Group", vpc=vpc),
        )
        group = autoscaling.AutoScalingGroup(
            self, "Hosts", vpc=vpc, launch_template=template, min_capacity=0, max_capacity=2
        )
        provider = ecs.AsgCapacityProvider(
            self, "Provider", auto_scaling_group=group, enable_managed_termination_protection=False
        )
        cluster.add_asg_capacity_provider(provider)
        task = ecs.Ec2TaskDefinition(self, "Task")
        image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
        main = task.add_container("main", image=image, memory_limit_mib=512, gpu_count=1)

        rule = events.Rule(self, "Rule", schedule=events.Schedule.rate(RATE))
        rule.add_target(targets.EcsTask(cluster=cluster, task_definition=task))
        patterns.ScheduledEc2Task(
            self,
            "Pattern",
            cluster=cluster,
            schedule=scaling.Schedule.rate(RATE),
            scheduled_ec2_task_definition_options=patterns.ScheduledEc2TaskDefinitionOptions(task_definition=task),
        )
        scheduler.Schedule(
            self,
            "Schedule",
            schedule=scheduler.ScheduleExpression.rate(RATE),
            target=scheduler_targets.EcsRunEc2Task(cluster, task_definition=task),
        )
        override = sfn_tasks.ContainerOverride(
            container_definition=main,
            environment=[sfn_tasks.TaskEnvironmentVariable(name="RUN", value=sfn.JsonPath.string_at("$.run"))],
        )
        train = sfn_tasks.EcsRunTask(
            self,
            "Train",
            cluster=cluster,
            task_definition=task,
            launch_target=sfn_tasks.EcsEc2LaunchTarget(),
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
            container_overrides=[override],
        )
        each = sfn.Map(self, "Each", items_path="$.runs").item_processor(train)
        sfn.StateMachine(self, "Machine", definition_body=sfn.DefinitionBody.from_chainable(each))
        evaluate = sfn_tasks.EcsRunTask.jsonata(
            self, "Evaluate", cluster=cluster, task_definition=task, launch_target=sfn_tasks.EcsEc2LaunchTarget()
        )
        sfn.StateMachine(
            self,
            "Jsonata",
            query_language=sfn.QueryLanguage.JSONATA,
            definition_body=sfn.DefinitionBody.from_chainable(evaluate),
        )
        file = folder / "machine.asl.json"
        file.write_text(json.dumps(IN_FILE))
        sfn.StateMachine(
            self,
            "OfFile",
            definition_body=sfn.DefinitionBody.from_file(str(file)),
            definition_substitutions={"cluster": cluster.cluster_arn, "task": task.task_definition_arn},
        )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("cdk.out")))
    Runs(app, "Runs", tmp_path_factory.mktemp("source"))
    return check_files([app.synth().directory])


def test_every_run_is_read_with_its_task_and_its_cluster(report: Report) -> None:
    assert [(each.name, each.starter, each.launch_type) for each in report.fleet.workloads] == [
        ("Rule", Starter.RULE, None),
        ("Pattern/ScheduledEventRule", Starter.RULE, None),
        ("Schedule", Starter.SCHEDULE, "EC2"),
        ("Machine[Train]", Starter.STATE_MACHINE, "EC2"),
        ("Jsonata[Evaluate]", Starter.STATE_MACHINE, "EC2"),
        ("OfFile[Train]", Starter.STATE_MACHINE, "EC2"),
    ]
    assert {each.cluster for each in report.fleet.workloads} == {"Cluster"}
    assert {None if each.task is None else each.task.name for each in report.fleet.workloads} == {"Task"}


def test_a_definition_beside_the_template_is_read(tmp_path: Path) -> None:
    properties = {
        "DefinitionUri": "machines/train.asl.json",
        "DefinitionSubstitutions": {"cluster": "prod", "task": "train"},
    }
    machine = {"Type": "AWS::Serverless::StateMachine", "Properties": properties}
    template = tmp_path / "template.json"
    template.write_text(json.dumps({"Resources": {"Machine": machine}}))
    assert check_files([template], rules=()).fleet.workloads == ()
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "train.asl.json").write_text(json.dumps(IN_FILE))
    assert [(each.name, each.cluster) for each in check_files([template], rules=()).fleet.workloads] == [
        ("Machine[Train]", "prod")
    ]
    (tmp_path / "machines" / "train.asl.json").write_text("{")
    assert check_files([template], rules=()).fleet.workloads == ()


class Submissions(cdk.Stack):
    """What CDK's constructs for AWS Batch and Step Functions make that AWS refuses."""

    def __init__(self, scope: cdk.App, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        vpc = ec2.Vpc(self, "Vpc", max_azs=1, nat_gateways=1, restrict_default_security_group=False)
        hosts = batch.ManagedEc2EcsComputeEnvironment(
            self,
            "Hosts",
            vpc=vpc,
            instance_types=[ec2.InstanceType("g6.xlarge")],
            use_optimal_instance_classes=False,
        )
        fargate = batch.FargateComputeEnvironment(self, "Fargate", vpc=vpc)
        first = batch.OrderedComputeEnvironment(compute_environment=hosts, order=1)
        second = batch.OrderedComputeEnvironment(compute_environment=fargate, order=2)
        batch.JobQueue(self, "Mixed", compute_environments=[first, second])
        shares = batch.FairshareSchedulingPolicy(self, "Shares")
        queue = batch.JobQueue(self, "Fair", compute_environments=[first], scheduling_policy=shares)
        container = batch.EcsEc2ContainerDefinition(
            self,
            "Container",
            image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"),
            cpu=4,
            memory=cdk.Size.gibibytes(12),
            gpu=1,
        )
        job = batch.EcsJobDefinition(self, "Job", container=container)
        rule = events.Rule(self, "Rule", schedule=events.Schedule.rate(RATE))
        rule.add_target(targets.BatchJob(queue.job_queue_arn, queue, job.job_definition_arn, job))
        train = sfn_tasks.BatchSubmitJob(
            self,
            "Train",
            job_name="train",
            job_queue_arn=queue.job_queue_arn,
            job_definition_arn=job.job_definition_arn,
        )
        pause = sfn.Wait(self, "Pause", time=sfn.WaitTime.duration(RATE))
        again = train.add_catch(pause)
        pause.next(train)
        body = sfn.DefinitionBody.from_chainable(again)
        sfn.StateMachine(self, "Machine", definition_body=body, state_machine_type=sfn.StateMachineType.EXPRESS)


def test_what_is_submitted_through_cdk_is_judged(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    Submissions(app, "Submissions")
    found = {(each.rule, each.subject) for each in check_files([app.synth().directory]).findings}
    assert found - {("GPU088", "Hosts")} == {
        ("GPU351", "Rule[Target0]"),
        ("GPU351", "Machine[Train]"),
        ("GPU321", "Machine[Train]"),
    }

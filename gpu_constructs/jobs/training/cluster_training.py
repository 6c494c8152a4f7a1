"""A training over several hosts of one capacity of a cluster of ECS, made a gang by a state machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import in_words, of_kind, variables
from gpu_constructs.cdk.calls import naming, stack_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.errors import GpuConstructsError, IncompatibleError, InvalidValueError
from gpu_constructs.fleet import Gang as GangOfTasks
from gpu_constructs.fleet import GangMember, Starter, StrategyItem, Workload
from gpu_constructs.jobs.batch.job_options import DAY_SECONDS, require_volumes
from gpu_constructs.jobs.batch.job_plan import NCCL_OF_TASKS
from gpu_constructs.jobs.data import DataOptions, JobPlaces
from gpu_constructs.jobs.job_run import CHECKPOINTS, VARIABLES, JobRetries, JobRun
from gpu_constructs.jobs.machine import attempt_seconds, require_machine_name
from gpu_constructs.jobs.started_job import StartedJob
from gpu_constructs.jobs.training.gang_plan import Hosts, hosts_of, long_history, mount_volumes, require_room
from gpu_constructs.jobs.training.gang_states import GANG_VARIABLES, RESERVED, Gang, attempts_of, gang_definition_of
from gpu_constructs.jobs.training.training_checks import (
    latest_start,
    require_launch,
    require_mounted,
    require_reached,
    require_time,
    shorter_wait,
    words_of,
)
from gpu_constructs.jobs.training.training_launcher import TrainingLauncher
from gpu_constructs.tasks.gpu_ask import GpuNeedOptions, needs_among
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.workload import keep_exported, require_home

_TASK, _CONTAINER = "Task", "train"
_START_SECONDS = 1800


class ClusterTrainingOptions(GpuNeedOptions, DataOptions, total=False):
    """Arguments of `ClusterTraining` that other jobs have as well."""


class ClusterTraining(StartedJob):
    """Defines a training over several hosts of a cluster of ECS, and the state machine that runs it.

    For a cluster that you keep. ECS has no gangs: it starts each task by itself, as its host comes. The state machine
    starts the main task, waits until it runs, and starts one on each other host with its address. All are stopped when
    the main one ends, when another one fails, and when not all run within `start_within`; then `retries` decide. The
    execution ends with the end of the main task, or with that of the one that failed.

    What AWS Batch does and this cannot (`MultiNodeTraining`): hosts that came are paid for while the others still come,
    and two trainings at once on one capacity can hold the hosts of each other until `start_within` is over.

    Each task has all GPUs of its host, and an interface of its own in a security group that is opened to itself. The
    container gets the variables of a `GpuJob` and those of AWS Batch that a `TrainingLauncher` reads, such as
    ``AWS_BATCH_JOB_NODE_INDEX``.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster of the capacity.
        capacity: Hosts of an Auto Scaling group, in subnets of one Availability Zone, from `GpuCluster.add_capacity`.
            Of Spot hosts, one that is interrupted ends the attempt on all, which a warning says.
        hosts: How many of them, 2 to 40.
        image: The image of its containers, with the framework; for EFA with libfabric and AWS's plugin for NCCL.
        command: What runs on each host, in the words of what `launcher` starts.
        launcher: What starts it. By default ``TrainingLauncher.torchrun()``, one process for each GPU.
        environment: Environment variables.
        secrets: Environment variables from Secrets Manager or Parameter Store.
        timeout: How long one attempt may take, with the time in which hosts come. By default a day.
        start_within: How long it may take until all hosts run, of which the pull of a large image is a part; no longer
            than `timeout`. By default half an hour.
        retries: How often it is run again, for each cause; ``no_host`` is also that of hosts that did not run in time.
        task_role: What it may do on AWS. By default a role that may use the places above and nothing else.
        execution_role: What ECS uses to pull its image and write its logs. By default a role is made.
        log_group: Where its logs go. By default a log group is defined that is deleted with the stack.
        log_retention: How long the default log group keeps them. By default a month.
        volumes: What all its hosts share, such as ``batch.EcsVolume.efs(…)``, or ``batch.EcsVolume.host(…)`` of a
            directory where hosts mount FSx for Lustre.
        state_machine_name: The name of the machine. By default CloudFormation makes one.
        **options: What it needs of each GPU, explained at `GpuNeedOptions`, and where it reads, writes and resumes, at
            `DataOptions`; each execution is a job with checkpoints of its own.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: The capacity cannot hold the gang: too few hosts, different GPUs, or several zones.
        DoesNotFitError: Its hosts have less of something than the container asks for.
        RefusedByCdkError: CDK refuses it.

    Attributes:
        state_machine: Each execution of it is one training.
        alarm: Goes off when a training has failed. Whoever is told of alarms of the cluster is told of it as well
            (`GpuCluster.add_monitoring`).
        task_definition: What each host runs.
        security_group: That of the tasks.
        hosts: How many hosts it has.
        data: Where it reads, writes and resumes.
    """

    _more = GANG_VARIABLES

    @naming(ClusterTrainingOptions)
    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: GpuCluster,
        capacity: GpuCapacity,
        hosts: int,
        image: ecs.ContainerImage,
        command: Sequence[str],
        launcher: TrainingLauncher | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Mapping[str, ecs.Secret] | None = None,
        timeout: cdk.Duration | None = None,
        start_within: cdk.Duration | None = None,
        retries: JobRetries | None = None,
        task_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        volumes: Sequence[batch.EcsVolume] | None = None,
        state_machine_name: str | None = None,
        **options: Unpack[ClusterTrainingOptions],
    ) -> None:
        require_gpu_cluster(cluster)
        gang = hosts_of(capacity, hosts)
        chosen = of_kind("launcher", launcher, TrainingLauncher, example="TrainingLauncher.torchrun()")
        words = words_of(command, chosen)
        budgets = of_kind("retries", retries, JobRetries, example="JobRetries(lost_host=5)")
        require_room(gang.number, budgets)
        attempts = attempts_of(budgets)
        seconds = DAY_SECONDS if timeout is None else attempt_seconds("timeout", timeout, attempts)
        start_seconds = (
            min(_START_SECONDS, seconds)
            if start_within is None
            else attempt_seconds("start_within", start_within, attempts)
        )
        if start_seconds > seconds:
            raise IncompatibleError(
                f"hosts may take {in_words(start_seconds)} until all run, and an attempt ends after "
                f"{in_words(seconds)}",
                argument="start_within",
                value=start_seconds,
                allowed=f"60 to {seconds} seconds",
                fix="a shorter start_within, or a longer timeout",
            )
        require_launch(chosen, gpus=gang.gpus, attempt_seconds=seconds, exit_codes=budgets.exit_codes)
        require_time(capacity.pool.name, capacity.pool.bought.block, seconds)
        require_volumes(volumes)
        places = JobPlaces.of(options, reserved=VARIABLES)
        if volumes:
            require_mounted(places.checkpoints, volumes)
        given = variables("environment", environment, of=str, example="{'NAME': 'value'}")
        _require_free(given)
        places.require_apart(given)
        places.require_names(stack_of(scope))
        require_reached(volumes, cluster.hosts.vpc)
        require_machine_name(state_machine_name)
        cluster.hosts.require_same_region(scope)
        told = {**NCCL_OF_TASKS, **given, **places.variables}
        if places.checkpoints is not None:
            # The launcher adds the name of the execution.
            told[CHECKPOINTS] = places.checkpoints.location
        super().__init__(scope, construct_id)
        with _in_words_of(construct_id):
            task = GpuTaskDefinition(
                self,
                _TASK,
                capacity=[capacity],
                network_mode=ecs.NetworkMode.AWS_VPC,
                log_group=log_group,
                log_retention=log_retention,
                task_role=task_role,
                execution_role=execution_role,
            )
            container = task.add_gpu_container(
                _CONTAINER,
                image=image,
                gpus=gang.gpus,
                efa=gang.has_efa,
                command=chosen.command(words, gpus=gang.gpus, start_seconds=start_seconds),
                environment=told,
                secrets=secrets,
                **needs_among(options),
            )
            mount_volumes(task, container, volumes or ())
            self.task_definition = task
            self.hosts: int = gang.number
            item = StrategyItem(provider=capacity.pool.provider_name, pool=capacity.pool, weight=1)
            self._item = item
            require_home(self.workload, [capacity], cluster.cluster, {"Strategy": "capacity"})
            keep_exported([capacity], scope)
            self.security_group: ec2.SecurityGroup = _group(self, cluster)
            self._run: JobRun = JobRun(
                partition=cluster.hosts.place[0],
                cluster=cluster.hosts.cluster_arn,
                task_definition=task.task_definition_arn,
                family=task.family,
                container=_CONTAINER,
                strategy=[{"CapacityProvider": capacity.capacity_provider_name, "Weight": 1}],
                network={
                    "Subnets": capacity.subnets.ids,
                    "SecurityGroups": [self.security_group.security_group_id],
                },
                packed=False,
                environment={},
                checkpoints=None,
                timeout_seconds=seconds,
            )
            of_gang = Gang(run=self._run, hosts=gang.number, start_seconds=start_seconds)
            definition = gang_definition_of(of_gang, budgets)
            self._define_machine(definition, hosts=cluster.hosts, task=task, places=places, name=state_machine_name)
            _warn(
                self,
                spot=_spot_of(gang),
                block=latest_start(capacity.pool.bought.block, seconds),
                join=shorter_wait(chosen, start_seconds),
                network=capacity.subnets.unreached,
                retries=long_history(gang.number, budgets),
            )

    @property
    def workload(self) -> Workload:
        """One of its tasks on its capacity, as the value that every check reads."""
        return Workload(
            name=self.node.id,
            task=self.task_definition.task,
            starter=Starter.STATE_MACHINE,
            strategy=(self._item,),
            network_configuration=True,
        )

    @property
    def gang(self) -> GangOfTasks:
        """All its tasks as one start, as the value that every check reads."""
        machine = f"{self.node.id}/{self.state_machine.node.id}"
        return GangOfTasks(
            name=f"{machine}[Run]",
            members=(
                GangMember(workload=f"{machine}[Main]"),
                GangMember(workload=f"{machine}[Other]", count=self.hosts - 1),
            ),
        )


def _group(scope: Construct, cluster: GpuCluster) -> ec2.SecurityGroup:
    group = ec2.SecurityGroup(scope, "SecurityGroup", vpc=cluster.hosts.vpc, description="The hosts of a training")
    group.add_ingress_rule(group, ec2.Port.all_traffic(), "The other hosts of the training")
    return group


def _require_free(environment: Mapping[str, str]) -> None:
    taken = next((each for each in environment if each in VARIABLES or each.startswith(RESERVED)), None)
    if taken is not None:
        raise InvalidValueError(
            f"{taken} is a variable that the training gets by itself",
            argument="environment",
            value=taken,
            fix="another name",
        )


@contextmanager
def _in_words_of(training: str) -> Iterator[None]:
    """Says in refusals what the user has called a training, whose task and container have names of this library."""
    try:
        yield
    except GpuConstructsError as error:
        error.problem = error.problem.replace(f"container {_CONTAINER} of {_TASK} ", f"{training} ")
        error.problem = error.problem.replace(f"{_TASK} ", f"{training} ")
        raise


def _spot_of(gang: Hosts) -> str | None:
    if not gang.is_spot:
        return None
    return (
        f"one interrupted Spot host ends the training on all {gang.number}, and retries start it again from its "
        "last checkpoint; on demand, a reservation or a Capacity Block has no such interruptions"
    )


def _warn(scope: Construct, **said: str | None) -> None:
    for name, text in said.items():
        if text is not None:
            cdk.Annotations.of(scope).add_warning_v2(f"gpu-constructs:ClusterTraining.{name}", text)

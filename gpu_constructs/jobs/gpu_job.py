"""Work on GPUs that ends: a task that gets a host from zero, is tried again within budgets, and ends within a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import of_kind
from gpu_constructs.cdk.calls import naming, stack_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import PoolKind, Starter, Task, Workload
from gpu_constructs.jobs.data import DataOptions, JobPlaces
from gpu_constructs.jobs.job_run import NAME_FORM, VARIABLES, JobRetries, JobRun, variables_by_hand
from gpu_constructs.jobs.machine import attempt_seconds, require_machine_name
from gpu_constructs.jobs.started_job import StartedJob
from gpu_constructs.jobs.states import definition_of
from gpu_constructs.placement import demand_of, task_slots
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import (
    CapacityShare,
    capacity_used,
    keep_exported,
    require_accelerators,
    require_home,
    require_interfaces,
    run_task_line,
    shares_of,
)

_ARGUMENTS: Mapping[str, str] = {
    "CapacityProviderStrategy": "capacity",
    "NetworkMode awsvpc": "network_mode=ecs.NetworkMode.AWS_VPC",
    "Strategy": "capacity",
}


class GpuJob(StartedJob):
    """Defines work on GPUs that ends, and the state machine of AWS Step Functions that runs it.

    Each execution of the machine is one job: it runs the task with a capacity provider strategy, so that a cluster
    without hosts starts one, and runs it again after what `JobRetries` names, each cause within a budget of its own. It
    ends with the description of the task, or with an error that says what happened. Nothing that ended well is run
    twice by it, and nothing runs longer than its limit.

    The container gets three variables: ``JOB_NAME``, the name of the execution, which is the same in each attempt;
    ``JOB_ATTEMPT``, 0 for the first; and ``JOB_INPUT``, what the execution was started with, as JSON, for which ECS has
    room for about 8,000 characters.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster whose capacity the task definition names.
        task_definition: What it runs.
        timeout: How long one attempt may take, with the time in which it waits for a host. Its task is then stopped,
            and the job has failed.
        capacity: Which of the task definition's capacities it uses. By default all of them; of Auto Scaling groups and
            Managed Instances, a job uses one kind.
        retries: How often it is run again, for each cause. By default three times after no host came, five times after
            its host was lost, and never after a failure of its own.
        container_name: The container whose exit code is that of the job. By default the first with GPUs.
        state_machine_name: The name of the machine. By default CloudFormation makes one.
        security_groups: Of tasks in network mode ``awsvpc``. By default one is made, which lets nothing in.
        vpc_subnets: Of tasks in network mode ``awsvpc``. By default those of the hosts.
        **options: Where it reads, writes and resumes: `reads`, `writes` and `checkpoints`, explained at `DataOptions`.

    Raises:
        InvalidValueError: An argument is wrong by itself, or the task definition has no GPU container yet.
        IncompatibleError: Its capacity is of another cluster or of both kinds, or security groups or subnets are for
            tasks that have no network interface.
        RefusedByCdkError: CDK refuses it for another reason.

    Attributes:
        state_machine: Each execution of it is one job.
        alarm: Goes off when a job has failed. Whoever is told of alarms of the cluster is told of it as well
            (`GpuCluster.add_monitoring`).
        task_definition: What it runs.
        data: Where it reads, writes and resumes.
    """

    @naming(DataOptions)
    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: GpuCluster,
        task_definition: GpuTaskDefinition,
        timeout: cdk.Duration,
        capacity: Sequence[Capacity] | None = None,
        retries: JobRetries | None = None,
        container_name: str | None = None,
        state_machine_name: str | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        **options: Unpack[DataOptions],
    ) -> None:
        require_gpu_cluster(cluster)
        require_accelerators(task_definition, instead="CDK's sfn_tasks.EcsRunTask")
        budgets = of_kind("retries", retries, JobRetries, example="JobRetries(lost_host=5)")
        seconds = attempt_seconds("timeout", timeout, budgets.attempts)
        container = _container(task_definition, container_name)
        places = JobPlaces.of(options, reserved=VARIABLES)
        require_machine_name(state_machine_name)
        cluster.hosts.require_same_region(scope)
        places.require_names(stack_of(scope))
        used = capacity_used(capacity, task_definition.capacity)
        task = task_definition.counted.with_ports()
        shares = shares_of(used, [task_slots(task, each.pool) for each in used])
        workload = _workload(construct_id, task, shares)
        require_home(workload, used, cluster.cluster, _ARGUMENTS)
        require_allowed(workload, _ARGUMENTS)
        require_yes(workload, "GPU140", arguments=_ARGUMENTS)
        of_interfaces = {"security_groups": security_groups, "vpc_subnets": vpc_subnets}
        require_interfaces(workload, of_interfaces, _ARGUMENTS)
        super().__init__(scope, construct_id)
        groups = self._groups(cluster, security_groups) if task.interfaces else []
        mounted = [ready for each in groups[:1] for ready in task_definition.let_reach_caches(each)]
        hosts = cluster.hosts
        self._run: JobRun = JobRun(
            partition=hosts.place[0],
            cluster=hosts.cluster_arn,
            task_definition=task_definition.task_definition_arn,
            family=task_definition.family,
            container=container,
            strategy=[each.as_api for each in shares],
            network=_network(cluster, groups, vpc_subnets) if task.interfaces else None,
            packed=used[0].pool.kind is not PoolKind.MANAGED_INSTANCES,
            environment=places.variables,
            checkpoints=None if places.checkpoints is None else places.checkpoints.location,
            timeout_seconds=seconds,
        )
        self._define_machine(
            definition_of(self._run, budgets),
            hosts=hosts,
            task=task_definition,
            places=places,
            name=state_machine_name,
            after=mounted,
        )
        unreached = cluster.hosts.subnets_of(vpc_subnets).unreached if task.interfaces else None
        if unreached is not None:
            cdk.Annotations.of(self).add_warning_v2("gpu-constructs:GpuJob.network", unreached)
        keep_exported(used, scope)
        self._workload = workload
        self._cluster_name = cluster.hosts.cluster_name

    @property
    def workload(self) -> Workload:
        """One copy of its task on its capacity, as the value that every check reads."""
        return replace(self._workload, task=self.task_definition.task)

    @checked
    def run_task_command(self, *, job_input: Mapping[str, object] | None = None, job_name: str = "by-hand") -> str:
        """The command that runs the task alone, once and without a time limit, as text for an output.

        The container gets the same variables as in a job.

        Args:
            job_input: What it gets as ``JOB_INPUT``. By default an empty object.
            job_name: What it gets as ``JOB_NAME``; with the name of a job, it resumes from that job's checkpoints.

        Raises:
            InvalidValueError: `job_input` cannot be written as JSON, or no job has such a name.
        """
        if not NAME_FORM.fullmatch(job_name):
            raise InvalidValueError(
                f"{shown(job_name)} is not a name of a job",
                argument="job_name",
                value=job_name,
                allowed="letters, digits, _ and -, up to 80",
                fix="leave it out for 'by-hand'",
            )
        variables = variables_by_hand(self._run, name=job_name, job_input=self._text_of(job_input or {}))
        environment = [{"name": name, "value": value} for name, value in variables.items()]
        return run_task_line(
            cluster_name=self._cluster_name,
            family=self._run.family,
            strategy=self._run.strategy,
            network=self._run.network,
            overrides={"containerOverrides": [{"name": self._run.container, "environment": environment}]},
        )

    def _groups(self, cluster: GpuCluster, given: Sequence[ec2.ISecurityGroup] | None) -> Sequence[ec2.ISecurityGroup]:
        if given is not None:
            return given
        return [ec2.SecurityGroup(self, "SecurityGroup", vpc=cluster.hosts.vpc, description="A job: no way in")]


def _workload(name: str, task: Task, shares: Sequence[CapacityShare]) -> Workload:
    return Workload(
        name=name,
        task=task,
        starter=Starter.STATE_MACHINE,
        strategy=tuple(each.item for each in shares),
        network_configuration=bool(task.interfaces),
    )


def _container(task_definition: GpuTaskDefinition, name: str | None) -> str:
    """The container whose exit code is that of the job."""
    containers = task_definition.task.containers
    names = [each.name for each in containers if isinstance(each.name, str)]
    if name is None:
        task = task_definition.task
        return next(
            each.name
            for each in containers
            if isinstance(each.name, str) and demand_of(replace(task, containers=(each,))).wants_accelerator
        )
    if name not in names:
        raise InvalidValueError(
            f"{task_definition.node.path} has no container {shown(name)}",
            argument="container_name",
            value=name,
            allowed=", ".join(names),
            fix="leave it out for the first container with GPUs",
        )
    return name


def _network(
    cluster: GpuCluster, groups: Sequence[ec2.ISecurityGroup], chosen: ec2.SubnetSelection | None
) -> dict[str, list[str]]:
    return {
        "Subnets": cluster.hosts.subnets_of(chosen).ids,
        "SecurityGroups": [each.security_group_id for each in groups],
    }

"""Work on GPUs that ends: a task that gets a host from zero, is tried again within budgets, and ends within a limit."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as sfn_tasks
from constructs import Construct, IDependable
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import of_kind, require_same_place, whole_seconds
from gpu_constructs.cdk.calls import naming, stack_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cdk.state_parts import alarm_of_executions
from gpu_constructs.cdk.validation import warn
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.hosts.given_cluster import require_gpu_cluster
from gpu_constructs.fleet import PARTLY_SPOT, PoolKind, Starter, Task, Workload
from gpu_constructs.jobs.data import DataOptions, JobData, JobPlaces
from gpu_constructs.jobs.job_run import VARIABLES, JobRetries, JobRun
from gpu_constructs.jobs.job_task import (
    attempt_seconds,
    container_of,
    fleet_of,
    require_apart,
    require_cost,
    warn_of_lost_hours,
)
from gpu_constructs.jobs.machine import machine_of_tasks, one_at_a_time, require_machine_name
from gpu_constructs.jobs.messages import from_queue, kept, most_at_once, require_queue
from gpu_constructs.jobs.starts import on_object, on_schedule, text_of
from gpu_constructs.jobs.states import definition_of, longest_seconds
from gpu_constructs.placement.rollout import task_slots
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import (
    STARTED,
    CapacityShare,
    capacity_used,
    keep_exported,
    keep_old_revisions,
    require_accelerators,
    require_home,
    require_interfaces,
    shares_of,
)


class GpuJob(Construct):
    """Defines work on GPUs that ends, and the state machine of AWS Step Functions that runs it.

    Each execution of the machine is one job: it runs the task with a capacity provider strategy, so that a cluster
    without hosts starts one, and runs it again after what `JobRetries` names, each cause within a budget of its own. It
    ends with the description of the task, or with an error that says what happened. Nothing that ended well is run
    twice by it, and nothing runs longer than its limit.

    The container gets three variables: ``JOB_NAME``, the name of the execution, which is the same in each attempt;
    ``JOB_ATTEMPT``, 0 for the first; and ``JOB_INPUT``, what the execution was started with, as JSON, for which ECS has
    room for about 8,000 characters.

    Args:
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
        max_cost_usd: What one start may cost at most, in all its attempts, at the on-demand prices of this version of
            the library; the row of ``gpu-constructs plan``. By default nothing is refused.
        **options: Where it reads, writes and resumes, explained at `DataOptions`.

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
        max_cost_usd: float | None = None,
        **options: Unpack[DataOptions],
    ) -> None:
        require_gpu_cluster(cluster)
        require_accelerators(task_definition, instead="CDK's sfn_tasks.EcsRunTask")
        budgets = of_kind("retries", retries, JobRetries, example="JobRetries(lost_host=5)")
        seconds = attempt_seconds(timeout)
        container = container_of(task_definition, container_name)
        places = JobPlaces.of(options, reserved=VARIABLES, has_fields=True)
        key = places.key
        require_machine_name(state_machine_name)
        cluster.hosts.require_same_region(scope)
        used = capacity_used(capacity, task_definition.capacity)
        task = task_definition.counted.with_ports()
        slots = [task_slots(task, each.pool) for each in used]
        shares = shares_of(used, slots)
        workload = _workload(construct_id, task, shares, cluster)
        require_interfaces(workload, {"security_groups": security_groups, "vpc_subnets": vpc_subnets}, STARTED)
        pools, longest = [each.pool for each in used], longest_seconds(seconds, budgets)
        by_itself = fleet_of(workload, pools, seconds, longest)
        require_cost(by_itself, longest, max_cost_usd, "JobRetries(…) with smaller budgets")
        super().__init__(scope, construct_id)
        if places.checkpoints is None:
            warn_of_lost_hours(self, pools, seconds)
        self.task_definition: GpuTaskDefinition = task_definition
        self.data: tuple[JobData, ...] = places.every
        hosts, network, mounted = cluster.hosts, None, list[IDependable]()
        if task.interfaces:
            subnets, groups = hosts.subnets_of(vpc_subnets), security_groups
            if groups is None:
                groups = [ec2.SecurityGroup(self, "SecurityGroup", vpc=hosts.vpc, description="A job: no way in")]
            mounted = [ready for each in groups[:1] for ready in task_definition.let_reach_caches(each)]
            network = {"Subnets": subnets.ids, "SecurityGroups": [each.security_group_id for each in groups]}
            if subnets.unreached is not None:
                warn(self, "public-subnets", subnets.unreached)
        run = JobRun(
            partition=hosts.place[0],
            cluster=hosts.cluster_arn,
            task_definition=task_definition.task_definition_arn,
            family=task_definition.family,
            container=container,
            strategy=[each.as_api for each in shares],
            network=network,
            packed=used[0].pool.kind is not PoolKind.MANAGED_INSTANCES,
            environment=places.variables,
            checkpoints=None if places.checkpoints is None else places.checkpoints.location,
            timeout_seconds=seconds,
            checkpoint_key=key or cdk.Names.unique_resource_name(self, max_length=64),
            spot=[
                each.capacity.capacity_provider_name
                for each in shares
                if each.capacity.pool.bought.option in PARTLY_SPOT
            ],
        )
        definition = definition_of(run, budgets)
        self.state_machine: sfn.StateMachine = machine_of_tasks(
            self, hosts, task_definition, definition, state_machine_name
        )
        # Executions that passed the time of all their attempts are counted as well.
        self.alarm: cloudwatch.Alarm = alarm_of_executions(
            self,
            self.state_machine,
            description="Jobs that failed for good; the cause of each execution says why",
            label="Failed jobs",
        )
        places.grant(task_definition.task_role)
        # An execution goes on with the revision that it began with.
        keep_old_revisions(task_definition)
        # A provider cannot leave the cluster while a task uses it.
        self.state_machine.node.add_dependency(hosts.association.services_depend_on, *mounted)
        hosts.add_alarm(self.alarm)
        keep_exported(used, scope)
        self._workload = workload
        self._hosts = hosts
        self._written = places.written
        self._slots, self._attempt_seconds = slots, seconds
        self._longest_seconds: int = definition["TimeoutSeconds"]
        self._checkpoint_key = key
        self._shares_checkpoints = places.checkpoints is not None and not key.startswith("$")

    @property
    def workload(self) -> Workload:
        """One copy of its task on its capacity, as the value that every check reads."""
        return replace(self._workload, task=self.task_definition.task)

    @checked
    def start_command(self, *, job_input: Mapping[str, object] | None = None) -> str:
        """The command that starts the job now, as text for an output.

        Args:
            job_input: What the job gets as ``JOB_INPUT``. By default an empty object.

        Raises:
            InvalidValueError: It cannot be written as JSON, has values that no job gets, or lacks the field that
                `checkpoint_key` names.
            RefusedByCdkError: A text in it has a field of a state in its middle.
        """
        command = f"aws stepfunctions start-execution --state-machine-arn {self.state_machine.state_machine_arn}"
        text = None if job_input is None else text_of(job_input, self._checkpoint_key)
        return command if text is None else f"{command} --input {shlex.quote(text)}"

    @checked
    def run_on_schedule(
        self,
        construct_id: str,
        *,
        schedule: scheduler.ScheduleExpression,
        job_input: Mapping[str, object] | None = None,
        schedule_name: str | None = None,
        enabled: bool = True,
        may_overlap: bool = False,
    ) -> scheduler.Schedule:
        """Starts the job by EventBridge Scheduler; a start that fails for an hour goes to a queue.

        A job that still runs from the same schedule when the next one is due goes on, and the next one is left out.

        Args:
            construct_id: The id of the schedule in the job.
            schedule: When, such as ``scheduler.ScheduleExpression.cron(hour="2", minute="0")``.
            job_input: What the job gets as ``JOB_INPUT``. By default an empty object.
            schedule_name: The name of the schedule. By default CloudFormation makes one.
            enabled: Whether it starts anything yet.
            may_overlap: Whether the next one runs beside one that still runs. By default not.
        """
        text = text_of(job_input or {}, self._checkpoint_key)
        if may_overlap:
            require_apart(self._shares_checkpoints, "$$.Execution.Name")
        started = self.state_machine if may_overlap else one_at_a_time(self, construct_id, self.state_machine)
        return scheduler.Schedule(
            self,
            construct_id,
            schedule=schedule,
            schedule_name=schedule_name,
            enabled=enabled,
            target=on_schedule(started, text, kept(self, f"{construct_id}NotStarted")),
        )

    @checked
    def run_from_queue(
        self,
        construct_id: str,
        *,
        queue: sqs.IQueue,
        max_concurrent: int | None = None,
        dead_letter_queue: sqs.IQueue | None = None,
        max_message_age: cdk.Duration | None = None,
    ) -> cloudwatch.Alarm:
        """Runs a job for each message of a queue, no more at once than there is room for.

        ``JOB_INPUT`` is the body of the message, and ``JOB_NAME`` its id. A message is deleted when its job has ended
        well, or when it is in the dead-letter queue because its job failed for good, with the reason in the attribute
        ``Why``. Each message is worked on at least once: SQS may give one out again, and gives out one again whose job
        takes more than 12 hours. A FIFO queue runs one job of each group at a time, in order.

        Args:
            construct_id: The beginning of the ids of what it makes in the job.
            queue: The queue, which nothing else reads.
            max_concurrent: How many jobs at once, up to 999. By default as many as the job's capacity holds.
            dead_letter_queue: Where the messages go whose jobs failed: a standard queue. By default one is made, which
                keeps them for two weeks.
            max_message_age: How old the oldest message may be, the time of its job included, before the alarm goes off.
                By default the alarm is for 15 minutes in which messages wait and none is worked on.

        Returns:
            The alarm for a queue that does not move.

        Raises:
            IncompatibleError: A queue is in another region, another job reads it, the dead-letter queue does not go
                with it, one attempt may take more than 12 hours, or all jobs would have one directory of checkpoints.
        """
        self._require_here("queue", queue)
        if dead_letter_queue is not None:
            self._require_here("dead_letter_queue", dead_letter_queue)
        if max_message_age is not None:
            whole_seconds("max_message_age", max_message_age, smallest=60)
        require_apart(self._shares_checkpoints, "$.trial")
        most = most_at_once(max_concurrent, self._slots)
        require_queue(self, queue, dead_letter_queue, self._attempt_seconds)
        alarm = from_queue(
            self,
            construct_id,
            self.state_machine,
            queue=queue,
            failed=dead_letter_queue,
            most=most,
            longest_seconds=self._longest_seconds,
            max_age=max_message_age,
        )
        self._hosts.add_alarm(alarm)
        return alarm

    @checked
    def run_on_object(self, construct_id: str, *, bucket: s3.IBucket, prefix: str = "") -> events.Rule:
        """Starts one job for each new object of a bucket, by EventBridge.

        A start that fails for an hour goes to a queue. ``JOB_INPUT`` is the event, with ``detail.bucket.name`` and
        ``detail.object.key``. The job does not write below that prefix, nor where another job of the app begins that
        leads back to it: each object would start another job.

        Args:
            construct_id: The id of the rule in the job.
            bucket: The bucket, which then sends its events to EventBridge.
            prefix: The beginning of the keys. By default all objects.
        """
        self._require_here("bucket", bucket)
        require_apart(self._shares_checkpoints, "$.detail.object.key")
        return on_object(self, construct_id, self.state_machine, bucket=bucket, prefix=prefix, written=self._written)

    @checked
    def step(
        self,
        scope: Construct,
        construct_id: str,
        *,
        job_input: sfn.TaskInput | None = None,
        result_selector: Mapping[str, object] | None = None,
        result_path: str | None = None,
    ) -> sfn_tasks.StepFunctionsStartExecution:
        """A step of a state machine of your own, which waits until the job has ended and fails with it.

        Its errors are ``States.TaskFailed``; the cause has the job's own error and cause. Do not retry it without a
        budget: the job has tried already.

        Args:
            scope: Where the step is defined.
            construct_id: Its id in that scope, which is the name of the state.
            job_input: What the job gets as ``JOB_INPUT``, for which ECS has room for about 8,000 characters. By default
                what your state machine was started with, and nothing of what the states before this one gave out. In
                a ``Map``, give it the item: ``sfn.TaskInput.from_json_path_at("$")``; a job with checkpoints needs a
                `checkpoint_key` there and in a ``Parallel``, which nothing here sees.
            result_selector: What of its result is kept, such as ``{"task.$": "$.Output.TaskArn"}``. By default all of
                the description of the execution, with that of its task.
            result_path: Where in the input of the state the result goes, or ``sfn.JsonPath.DISCARD``. By default the
                result is all that the state gives out.
        """
        return sfn_tasks.StepFunctionsStartExecution(
            scope,
            construct_id,
            state_machine=self.state_machine,
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
            input=job_input or sfn.TaskInput.from_json_path_at("$$.Execution.Input"),
            result_selector=result_selector,
            result_path=result_path,
        )

    def _require_here(self, argument: str, source: s3.IBucket | sqs.IQueue) -> None:
        """Refuses what is certain to be in another region, whose events come neither to a rule nor to a pipe here."""
        region = source.env.region
        require_same_place(stack_of(self), argument, region=region, what=argument, why="where nothing hears of it")


def _workload(name: str, task: Task, shares: Sequence[CapacityShare], cluster: GpuCluster) -> Workload:
    workload = Workload(
        name=name,
        task=task,
        starter=Starter.STATE_MACHINE,
        strategy=tuple(each.item for each in shares),
        network_configuration=bool(task.interfaces),
    )
    require_home(workload, [each.capacity for each in shares], cluster.cluster, STARTED)
    require_allowed(workload, STARTED)
    require_yes(workload, "GPU140", arguments=STARTED)
    return workload

"""A queue of AWS Batch with its hosts and its jobs."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import known_seconds, require_kind, seconds_of, whole_number, whole_seconds
from gpu_constructs.cdk.calls import naming, stack_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.validation import GpuChecks, warn
from gpu_constructs.cluster.capacity.plan import CapacityChoice
from gpu_constructs.cluster.hosts.network import HostSubnets, require_hosts_here
from gpu_constructs.cluster.monitoring.gpu_monitoring import require_topic
from gpu_constructs.errors import InvalidValueError, shown, unexpected
from gpu_constructs.facts.aws_limits import MAX_JOB_QUEUE_PRIORITY, MAX_QUEUE_ENVIRONMENTS
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.jobs.batch.environment import BatchEnvironment, QueueHosts
from gpu_constructs.jobs.batch.environment_plan import plan_environment
from gpu_constructs.jobs.batch.job import BatchWork
from gpu_constructs.jobs.batch.job_options import FairShares, JobOptions
from gpu_constructs.jobs.batch.job_plan import JobPlan, plan_job
from gpu_constructs.jobs.batch.watch import BatchWatch
from gpu_constructs.jobs.job_task import warn_of_lost_hours
from gpu_constructs.rules.evidence import torchrun

# https://docs.aws.amazon.com/batch/latest/APIReference/API_JobStateTimeLimitAction.html
_SHORTEST_WAIT, _LONGEST_WAIT = 600, 86_400
_LONGEST_UPDATE = 7200 * 60
_REASONS = batch.JobStateTimeLimitActionsReason
_EXAMPLE = "environments=[CapacityChoice('L4', instance_types=['g6.xlarge'], max_instances=8)]"


class GpuBatchJob(BatchWork):
    """Defines a job definition, its roles and a log group for it.

    Made by `GpuBatchQueue.add_job`, where the arguments are explained; its attributes are those of `BatchWork`.
    """

    def __init__(
        self,
        queue: GpuBatchQueue,
        construct_id: str,
        *,
        plan: JobPlan,
        image: ecs.ContainerImage,
        command: Sequence[str] | None,
    ) -> None:
        if not isinstance(plan, JobPlan):
            raise InvalidValueError(
                f"a queue plans its jobs itself, got {shown(plan)}",
                argument="plan",
                value=plan,
                fix=f"queue.add_job({construct_id!r}, image=…)",
            )
        super().__init__(queue, construct_id, queue=queue, plan=plan, image=image, command=command)
        if plan.places.checkpoints is None:
            warn_of_lost_hours(self, plan.pools, plan.task.attempt_seconds)
        if torchrun.is_program_of(command or ()) and (lost := torchrun.hidden_exit_codes(plan.retries.exit_codes)):
            warn(
                self,
                "exit-codes",
                f"{torchrun.ENDS_AS_ITSELF}, so that exit_codes={lost} never repeat the job; "
                f"exit_codes=[{torchrun.EXIT_CODE}], which repeats mistakes as well",
            )
        self.job_definition: batch.EcsJobDefinition = self._define(
            batch.EcsJobDefinition, plan, container=self.container
        )


@jsii.implements(ec2.IConnectable)
class GpuBatchQueue(Construct):
    """Defines a queue of AWS Batch, its compute environments, and what all its hosts share.

    Underneath: for each environment a launch template and a managed compute environment; an instance role with the
    permissions of the ECS agent and Session Manager and no others, its instance profile, and a security group that lets
    nothing in. Hosts take metadata requests with IMDSv2 tokens only and keep container images on an encrypted gp3
    volume. AWS Batch starts them for jobs that wait and ends them when they are idle. A changed type, image or launch
    template reaches hosts in place. Jobs are added with `add_job`.

    Args:
        vpc: Where its hosts run.
        environments: Its compute environments, the one to fill first; AWS Batch takes three at most, of one
            architecture. The arguments of a `CapacityChoice` mean the same as in `GpuCluster.add_capacity`, except that
            AWS Batch counts in vCPUs: `max_instances` of the smallest of the types, so fewer of larger ones, and one
            host above that where a job needs it. `scaling` and `capacity_provider_name` are not for AWS Batch.
        vpc_subnets: Subnets of hosts whose environment chooses no others. By default the private subnets with a way
            out.
        shares: Who gets how much of it; every job then names its share. By default jobs come in the order in which they
            were submitted.
        priority: Which of several queues comes first at a compute environment that they share, 0 to 9999.
        start_within: How long the first job of the queue may wait for hosts that EC2 does not have, ten minutes to a
            day; then it is cancelled, and its status says why. By default a day. A job that can never start is
            cancelled after ten minutes.
        update_timeout: How long jobs may go on on hosts that an update replaces, up to 5 days. By default 30 minutes;
            a job that is ended then is tried again if its `BatchRetries` have attempts left.
        encryption_key: A symmetric key for EBS volumes of hosts and default log groups of jobs. By default keys of AWS.
        job_queue_name: Its name. By default CloudFormation makes one.

    Attributes:
        hosts: What the hosts share.
        environments: The compute environments, in their order.
        scheduling_policy: The fair-share policy; None without shares.
        shares: Who gets how much of it, as given.
        job_queue: The job queue.
        watched: What watches it; None before `watch`.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        environments: Sequence[CapacityChoice],
        vpc_subnets: ec2.SubnetSelection | None = None,
        shares: FairShares | None = None,
        priority: int = 1,
        start_within: cdk.Duration | None = None,
        update_timeout: cdk.Duration | None = None,
        encryption_key: kms.IKey | None = None,
        job_queue_name: str | None = None,
    ) -> None:
        for argument, time, smallest, largest in (
            ("start_within", start_within, _SHORTEST_WAIT, _LONGEST_WAIT),
            ("update_timeout", update_timeout, 60, _LONGEST_UPDATE),
        ):
            if time is not None:
                fix, why = f"{argument}=cdk.Duration.hours(2)", "cannot be compared with the limits of AWS Batch"
                known_seconds(argument, time, smallest=smallest, largest=largest, fix=fix, why=why)
        whole_number("priority", priority, smallest=0, largest=MAX_JOB_QUEUE_PRIORITY, fix="priority=1")
        if shares is not None:
            require_kind("shares", shares, FairShares, example="FairShares(shares={'research': 3, 'nightly': 1})")
        subnets = HostSubnets.of(vpc, vpc_subnets)
        stack = scope if isinstance(scope, cdk.Stack) else stack_of(scope)
        require_hosts_here(stack, vpc, encryption_key)
        is_list = isinstance(environments, (list, tuple))
        if not is_list or not all(isinstance(each, CapacityChoice) for each in environments):
            raise unexpected("environments", environments, "a list of CapacityChoice", fix=_EXAMPLE)
        most, unit = MAX_QUEUE_ENVIRONMENTS, "environments"
        whole_number("environments", len(environments), smallest=1, largest=most, unit=unit, fix=_EXAMPLE)
        where = None if "${" in stack.region else stack.region
        own = (each.options.get("vpc_subnets") for each in environments)
        plans = [
            plan_environment(each, subnets=subnets if of_it is None else HostSubnets.of(vpc, of_it), region=where)
            for each, of_it in zip(environments, own, strict=True)
        ]
        super().__init__(scope, construct_id)
        self.hosts: QueueHosts = QueueHosts(self, stack=stack, vpc=vpc, subnets=subnets, encryption_key=encryption_key)
        _ = self.hosts.instance_profile, self.hosts.security_group
        minutes = 30 if update_timeout is None else update_timeout.to_minutes()
        self.environments: tuple[BatchEnvironment, ...] = tuple(
            BatchEnvironment(self, plan=each, hosts=self.hosts, update_minutes=minutes) for each in plans
        )
        self.shares: FairShares | None = shares
        self.scheduling_policy: batch.FairshareSchedulingPolicy | None = None if shares is None else shares.policy(self)
        self.job_queue: batch.JobQueue = batch.JobQueue(
            self,
            "Queue",
            job_queue_name=job_queue_name,
            priority=priority,
            scheduling_policy=self.scheduling_policy,
            compute_environments=[
                batch.OrderedComputeEnvironment(compute_environment=each.compute_environment, order=number)
                for number, each in enumerate(self.environments, start=1)
            ],
            job_state_time_limit_actions=[
                batch.JobStateTimeLimitAction(reason=reason, max_time=after)
                for reason, after in (
                    (_REASONS.INSUFFICIENT_INSTANCE_CAPACITY, start_within or seconds_of(_LONGEST_WAIT)),
                    (_REASONS.COMPUTE_ENVIRONMENT_MAX_RESOURCE, seconds_of(_SHORTEST_WAIT)),
                    (_REASONS.JOB_RESOURCE_REQUIREMENT, seconds_of(_SHORTEST_WAIT)),
                )
            ],
        )
        self._jobs: list[GpuBatchJob] = []
        self.watched: BatchWatch | None = None
        GpuChecks.add_to(self)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Those of its hosts, whose network jobs share; a training with EFA is in the default group of the VPC."""
        return self.hosts.security_group.connections

    @property
    def pools(self) -> tuple[Pool, ...]:
        """What its environments can launch, as the values that every check reads."""
        return tuple(each.pool for each in self.environments)

    @property
    def jobs(self) -> tuple[GpuBatchJob, ...]:
        """Its jobs so far, in the order in which they were added."""
        return tuple(self._jobs)

    @naming(JobOptions)
    @checked
    def add_job(
        self,
        construct_id: str,
        *,
        image: ecs.ContainerImage,
        command: Sequence[str] | None = None,
        gpus: int = 1,
        efa: bool = False,
        **options: Unpack[JobOptions],
    ) -> GpuBatchJob:
        """Defines a job that has whole GPUs to itself on one host of an environment of this queue.

        Args:
            construct_id: Its id under the queue.
            image: The image of its container.
            command: Command. By default the image's own.
            gpus: Whole GPUs, 1 or more.
            efa: Whether it talks to containers on other hosts through Elastic Fabric Adapters, which every environment
                that it fits must have.
            **options: The other arguments, explained at `JobOptions`, `GpuNeedOptions` and `DataOptions`: what it needs
                of each GPU, CPU and memory, variables, time limit, retries, share, roles, logs, volumes, and where it
                reads, writes and resumes.

        Raises:
            IncompatibleError: No environment of the queue has such GPUs, its checkpoints end with their container, or
                a start may cost more than `max_cost_usd`.
        """
        self.require_share(options.get("share"), options.get("scheduling_priority"))
        plan = plan_job(
            construct_id,
            options,
            gpus=gpus,
            efa=efa,
            pools=self.pools,
        )
        job = GpuBatchJob(self, construct_id, plan=plan, image=image, command=command)
        self._jobs.append(job)
        return job

    @checked
    def watch(self, *, notify: sns.ITopic, stuck_after: cdk.Duration | None = None) -> BatchWatch:
        """Tells somebody of jobs that failed, of a queue that is blocked, and of jobs that do not start.

        All jobs and trainings of the queue are watched. AWS Batch has no metrics; of it there are a notice of each job
        that failed, was cancelled or terminated, with its reason, exit code and log stream, one for a first job that
        AWS Batch knows to be stuck, and an alarm. The alarm goes off where one job has been first for `stuck_after` and
        no job of the queue has a host, as where hosts never join, and where a compute environment is invalid. Jobs that
        wait while others run raise none. With the default it costs about $0.40 a month.

        Args:
            notify: Who is told: a standard topic of the same region.
            stuck_after: How long a job may be first while none has a host, five minutes to a day. By default 30
                minutes, in which the hosts of every type start. The alarm goes off up to as long after that.
        """
        number = whole_seconds("stuck_after", stuck_after or seconds_of(1800), smallest=300, largest=_LONGEST_WAIT)
        if isinstance(number, Unknown) or number % 60:
            raise InvalidValueError(
                "the looks at a queue are so many whole minutes apart, which is written at synth",
                argument="stuck_after",
                fix="stuck_after=cdk.Duration.minutes(30)",
            )
        if self.watched is not None:
            raise InvalidValueError(
                "the queue is watched already", argument="notify", value=notify, fix="one call; topics have subscribers"
            )
        require_topic("notify", notify, self.hosts.stack)
        self.watched = BatchWatch(self, "Watch", queue=self, notify=notify, stuck_seconds=number)
        return self.watched

    def require_share(self, share: str | None, priority: int | None) -> None:
        """Refuses a job that counts against none of the shares, or against one where there are none."""
        names = () if self.shares is None else tuple(self.shares.shares)
        if share not in (names or (None,)):
            raise InvalidValueError(
                "the queue has no shares that a job could count against"
                if not names
                else "the queue has shares, and a job counts against one of them"
                if share is None
                else f"the queue has no share {shown(share)}",
                argument="share",
                value=share,
                allowed=", ".join(names) or None,
                fix=f"share={names[0]!r}" if names else "shares=FairShares(…) of the queue, or leave it out",
            )
        if priority is not None:
            whole_number(
                "scheduling_priority",
                priority,
                smallest=0,
                largest=MAX_JOB_QUEUE_PRIORITY,
                fix="scheduling_priority=1",
            )

    @property
    def host_role(self) -> iam.Role:
        """The role of all hosts; grant it what hosts need beyond the ECS agent and Session Manager."""
        return self.hosts.role

"""A training over several hosts of one type, which start together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.batch.job_plan import JobSize, plan_job
from gpu_constructs.batch.queue import GpuBatchQueue
from gpu_constructs.batch.retries import BatchRetries
from gpu_constructs.batch.work import DAY_SECONDS, BatchWork, JobSettings, require_volumes, seconds_of
from gpu_constructs.cdk.arguments import of_kind
from gpu_constructs.cdk.atomic import creating, require_construct_id, rolled_back_on_error
from gpu_constructs.cdk.durations import whole_seconds
from gpu_constructs.cdk.given import construct_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.jobs.data import JobData, JobPlaces
from gpu_constructs.jobs.job_run import CHECKPOINTS
from gpu_constructs.tasks.gpu_needs import plan_needs
from gpu_constructs.training.launch_plan import require_launch, require_mounted, words_of
from gpu_constructs.training.training_launcher import TrainingLauncher
from gpu_constructs.training.training_plan import gang_words, nodes_of, require_place, require_time

__all__ = ["MultiNodeTraining"]


class MultiNodeTraining(BatchWork):
    """Defines a training over several hosts of one type: a multi-node parallel job of AWS Batch.

    AWS Batch starts it when there are hosts for all of it. The main host comes first, the others when it runs; a
    launcher in the command of the container says to each who it is and where the main one is. The training ends with
    the main host, and AWS Batch then stops the others. It does not look at a host that fails
    (https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html): the processes on the others wait for it, as
    long as `TrainingLauncher.join_within` at the start, and later as long as their collectives have time (ten minutes
    in PyTorch with NCCL); then they fail, the main one with them, and `retries` decide. `timeout` ends whatever waits
    longer.

    Each container has an interface of its own in the security group of the queue's hosts, which is opened to itself.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        queue: A queue whose environments have one instance type, in one Availability Zone, and no spot hosts.
            ``network=HostNetwork.efa()`` in its `CapacityChoice` gives hosts their Elastic Fabric Adapters and a
            cluster placement group, ``HostNetwork(placement_group=True)`` the placement group alone.
        hosts: How many.
        image: The image of its containers, with the framework; for EFA with libfabric and AWS's plugin for NCCL, which
            AWS's deep learning containers have.
        command: What runs on each host, in the words of what `launcher` starts: for ``torchrun`` a script and its
            arguments. An entry point of the image has to end in ``exec "$@"``.
        launcher: What starts it. By default ``TrainingLauncher.torchrun()``, one process for each GPU.
        gpus: Whole GPUs of each host. By default all: AWS Batch puts one container on each host.
        gpu_memory_gib: Memory in GiB that each GPU must have. By default any GPU will do.
        min_compute_capability: CUDA compute capability that its GPUs must have, as (major, minor). By default any.
        precision: The narrowest number format that it computes in, such as ``bf16``. By default any GPU will do.
        nvlink: Whether the GPUs of each host must be joined by NVLink.
        vcpus: vCPUs of each host. By default the share that goes with its GPUs.
        memory_mib: Memory in MiB of each host. By default the same share.
        shared_memory_mib: Size of ``/dev/shm`` in MiB. By default half of the memory, 64 GiB at most.
        efa: Whether containers get the Elastic Fabric Adapters of their host. By default if hosts have them.
        environment: Environment variables.
        secrets: Environment variables from Secrets Manager or Parameter Store.
        reads: Where its data are, by the variable that containers get. The job role may read them.
        writes: Where its results go, likewise. The job role may read and write them.
        checkpoints: Where it keeps what it resumes from. Containers get ``JOB_CHECKPOINTS``, a directory there, the
            same on all hosts and in each attempt of one job, and another one for each job.
        timeout: How long one attempt may take, a minute or more, on all hosts together. By default a day.
        retries: How often it is tried again, and after what. By default twice, after the main host or its image failed.
            What the training has done without a checkpoint is lost. ``torchrun`` ends with exit code 1 after every
            failure on any host, so that ``exit_codes=[1]`` repeats mistakes as well as lost hosts.
        share: The share of the queue that it counts against; needed in a queue with shares.
        scheduling_priority: Its priority among the jobs of its share, 0 to 9999, where the queue has shares.
        job_role: What it may do on AWS. By default a role that may use the places above and nothing else.
        execution_role: What ECS uses to pull its image and write its logs. By default a role is made.
        log_group: Where its logs go. By default a log group is defined that is deleted with the stack.
        log_retention: How long the default log group keeps them. By default a month.
        volumes: What all its hosts share, such as ``batch.EcsVolume.efs(…)``, or ``batch.EcsVolume.host(…)`` of a
            directory where hosts mount FSx for Lustre.
        user: Who it runs as. By default the image's own.
        job_definition_name: Name of the job definition. By default CloudFormation makes one.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: The queue cannot hold the gang: too few hosts, several types or zones, or spot.
        DoesNotFitError: Its hosts have less of something than a container asks for.
        RefusedByCdkError: CDK refuses it.

    Attributes:
        queue: Its queue.
        task: What it asks of each host, as the value that every check reads.
        hosts: How many hosts it has.
        share: The share of the queue that it counts against; None in a queue without shares.
        log_group: Where its logs go.
        job_role: What it may do on AWS.
        data: Where it reads, writes and resumes.
        container: The container of each host.
        job_definition: The job definition.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: GpuBatchQueue,
        hosts: int,
        image: ecs.ContainerImage,
        command: Sequence[str],
        launcher: TrainingLauncher | None = None,
        gpus: int | None = None,
        gpu_memory_gib: float | None = None,
        min_compute_capability: tuple[int, int] | None = None,
        precision: str | None = None,
        nvlink: bool = False,
        vcpus: int | None = None,
        memory_mib: int | None = None,
        shared_memory_mib: int | None = None,
        efa: bool | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Mapping[str, batch.Secret] | None = None,
        reads: Mapping[str, JobData] | None = None,
        writes: Mapping[str, JobData] | None = None,
        checkpoints: JobData | None = None,
        timeout: cdk.Duration | None = None,
        retries: BatchRetries | None = None,
        share: str | None = None,
        scheduling_priority: int | None = None,
        job_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        volumes: Sequence[batch.EcsVolume] | None = None,
        user: str | None = None,
        job_definition_name: str | None = None,
    ) -> None:
        require_construct_id(construct_id)
        if not isinstance(queue, GpuBatchQueue):
            raise InvalidValueError(
                f"expects a GpuBatchQueue, got {shown(queue)}",
                argument="queue",
                value=queue,
                fix="queue=GpuBatchQueue(self, 'Queue', vpc=vpc, environments=[…])",
            )
        seconds = DAY_SECONDS if timeout is None else whole_seconds("timeout", timeout)
        chosen = of_kind("launcher", launcher, TrainingLauncher, example="TrainingLauncher.torchrun()")
        words = words_of(command, chosen)
        tries = of_kind("retries", retries, BatchRetries, example="BatchRetries(attempts=5)")
        places = JobPlaces.of(reads=reads, writes=writes, checkpoints=checkpoints, reserved=frozenset({CHECKPOINTS}))
        require_volumes(volumes)
        require_mounted(checkpoints, volumes)
        queue.require_share(share, scheduling_priority)
        nodes = nodes_of(queue.environments, hosts)
        told = places.variables
        if checkpoints is not None:
            told[CHECKPOINTS] = checkpoints.location
        plan = plan_job(
            construct_id,
            JobSize(
                gpus=nodes.host.gpus if gpus is None else gpus,
                vcpus=vcpus,
                memory_mib=memory_mib,
                shared_memory_mib=shared_memory_mib,
                efa=all(any(one.is_efa for one in each.interfaces) for each in queue.pools) if efa is None else efa,
                needs=plan_needs(
                    gpu_memory_gib=gpu_memory_gib,
                    min_compute_capability=min_compute_capability,
                    precision=precision,
                    nvlink=nvlink,
                ),
            ),
            pools=queue.pools,
            environment={**told, **environment} if isinstance(environment, Mapping) else told or environment,
            attempt_seconds=seconds,
            nodes=nodes,
            words=gang_words(queue.pools, nodes),
        )
        require_launch(chosen, gpus=plan.gpus, attempt_seconds=seconds, retries=tries)
        require_place(queue.environments)
        require_time(queue.environments, seconds)
        settings = JobSettings(
            image=image,
            command=chosen.command(words, gpus=plan.gpus),
            secrets=secrets,
            timeout=timeout or seconds_of(DAY_SECONDS),
            retries=tries,
            share=share,
            scheduling_priority=scheduling_priority,
            job_role=job_role,
            execution_role=execution_role,
            log_group=log_group,
            log_retention=log_retention,
            volumes=volumes,
            user=user,
            job_definition_name=job_definition_name,
        )
        with creating(scope, construct_id):
            super().__init__(scope, construct_id, queue=queue, plan=plan, settings=settings)
        with rolled_back_on_error(scope, construct_id):
            self.hosts: int = nodes.number
            self.job_definition: batch.MultiNodeJobDefinition = construct_of(
                batch.MultiNodeJobDefinition,
                batch.MultiNodeJobDefinitionProps,
                self,
                "Definition",
                job_definition_name=job_definition_name,
                instance_type=ec2.InstanceType(nodes.host.name),
                containers=[
                    batch.MultiNodeContainer(container=self.container, start_node=0, end_node=nodes.number - 1)
                ],
                timeout=settings.timeout,
                retry_attempts=settings.retries.attempts,
                retry_strategies=settings.retries.conditions() or None,
                scheduling_priority=scheduling_priority,
                propagate_tags=True,
            )
            self._add_needs(self.job_definition)
            self.data: tuple[JobData, ...] = places.every
            places.grant(self.job_role)
        queue.hosts.let_talk()

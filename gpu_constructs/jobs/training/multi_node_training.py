"""A training over several hosts of one type, which start together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.arguments import known_number, of_kind, require_kind, require_same_place
from gpu_constructs.cdk.calls import naming, stack_of
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts.aws_limits import MAX_JOB_NODES
from gpu_constructs.fleet import Pool, Unknown, known
from gpu_constructs.fleet.purchase import moment
from gpu_constructs.jobs.batch.environment import BatchEnvironment
from gpu_constructs.jobs.batch.job import BatchWork
from gpu_constructs.jobs.batch.job_options import BatchRetries, JobOptions
from gpu_constructs.jobs.batch.job_plan import Nodes, plan_job
from gpu_constructs.jobs.batch.queue import GpuBatchQueue
from gpu_constructs.jobs.training.training_launcher import START_PYTHON, Tool, TrainingLauncher
from gpu_constructs.rules.evidence import torchrun
from gpu_constructs.rules.finding import and_list, or_list

# As GPU294 says it.
_ON_DEMAND = "Type EC2 with AllocationStrategy BEST_FIT_PROGRESSIVE, in a compute environment for these jobs"


class MultiNodeTraining(BatchWork):
    """Defines a training over several hosts of one type: a multi-node parallel job of AWS Batch.

    AWS Batch starts it when there are hosts for all of it. The main host comes first, the others when it runs; a
    launcher in the command of the container says to each who it is and where the main one is. The training ends with
    the main host, and AWS Batch then stops the others. AWS Batch does not look at the others
    (https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html), so the launcher does: where one of them is
    stopped, is silent for a minute or never comes, the main one ends with exit code 113, after which every training is
    tried again on all hosts, within ``attempts`` of `retries`. A program that fails on any host ends the training with
    its own exit code within a minute; ``exit_codes`` repeat that. It takes ``python3`` in the image. What has been done
    without a checkpoint is lost. ``torchrun`` ends with exit code 1 whatever its script ends with.

    Each container has an interface of its own in the security group of the queue's hosts, which is opened to itself.
    Attributes besides the number of hosts are those of `BatchWork`.

    Args:
        queue: A queue whose environments have one instance type, in one Availability Zone, and no Spot hosts.
            ``network=HostNetwork.efa()`` in its `CapacityChoice` gives hosts their Elastic Fabric Adapters and a
            cluster placement group, ``HostNetwork(placement_group=True)`` the placement group alone.
        hosts: How many.
        image: The image of its containers, with the framework; for EFA with libfabric and AWS's plugin for NCCL, which
            AWS's deep learning containers have.
        command: What runs on each host, in the words of what `launcher` starts: for ``torchrun`` a script and its
            arguments. An entry point of the image has to end in ``exec "$@"``.
        launcher: What starts it. By default ``TrainingLauncher.torchrun()``, one process for each GPU.
        gpus: Whole GPUs of each host. By default all: AWS Batch puts one container on each host.
        efa: Whether containers get the Elastic Fabric Adapters of their host. By default if hosts have them.
        **options: The other arguments, explained at `JobOptions`, `GpuNeedOptions` and `DataOptions`: of each container
            and of its GPUs, variables, time limit, retries, share, roles, logs, volumes, and where the training reads,
            writes and resumes. All its hosts share `volumes`.

    Attributes:
        hosts: How many hosts it has.
    """

    @naming(JobOptions)
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
        efa: bool | None = None,
        **options: Unpack[JobOptions],
    ) -> None:
        example = "GpuBatchQueue(self, 'Queue', vpc=vpc, environments=[…])"
        require_kind("queue", queue, GpuBatchQueue, example=example)
        chosen = of_kind("launcher", launcher, TrainingLauncher, example="TrainingLauncher.torchrun()")
        require_same_place(
            stack_of(scope),
            "queue",
            region=queue.hosts.stack.region,
            account=queue.hosts.stack.account,
            what="queue",
            why="where AWS Batch does not find it",
        )
        queue.require_share(options.get("share"), options.get("scheduling_priority"))
        nodes = _nodes_of(queue.environments, hosts)
        plan = plan_job(
            construct_id,
            options,
            gpus=nodes.host.gpus if gpus is None else gpus,
            efa=all(any(one.is_efa for one in each.interfaces) for each in queue.pools) if efa is None else efa,
            pools=queue.pools,
            nodes=nodes,
            words=_gang_words(queue.pools, nodes),
        )
        for volume in options.get("volumes") or ():
            if isinstance(volume, batch.EfsVolume):
                queue.hosts.require_same_vpc(volume.file_system, argument="volumes")
        gpus, seconds = known(plan.asked.gpus), plan.task.attempt_seconds
        _require_launch(chosen, gpus, seconds, plan.retries)
        for each in queue.environments:
            _require_near(each, seconds)
        super().__init__(
            scope,
            construct_id,
            queue=queue,
            plan=plan,
            image=image,
            command=chosen.command(command, gpus=gpus),
        )
        self.hosts: int = nodes.number
        self.job_definition: batch.MultiNodeJobDefinition = self._define(
            batch.MultiNodeJobDefinition,
            plan,
            instance_type=ec2.InstanceType(nodes.host.name),
            containers=[batch.MultiNodeContainer(container=self.container, start_node=0, end_node=nodes.number - 1)],
        )
        queue.hosts.let_talk()


def _nodes_of(environments: Sequence[BatchEnvironment], hosts: int) -> Nodes:
    number = known_number(
        "hosts",
        hosts,
        smallest=1,
        largest=MAX_JOB_NODES,
        unit="hosts",
        fix=f"hosts={MAX_JOB_NODES}" if type(hosts) is int and hosts > MAX_JOB_NODES else "hosts=2",
        why="does not say whether the gang can start",
    )
    types = list(dict.fromkeys(one for each in environments for one in each.pool.instance_types))
    if len(types) > 1:
        names = [each.name for each in types]
        has = and_list(
            f"{each.pool.name} has {and_list(one.name for one in each.pool.instance_types)}" for each in environments
        )
        raise IncompatibleError(
            f"all hosts of a training are of one type, and {has}",
            argument="queue",
            value=names,
            allowed=or_list(names),
            fix=f"a GpuBatchQueue with instance_types=[{names[0]!r}] alone",
        )
    if types[0].gpus < 1:
        raise IncompatibleError(
            f"each host of a training has whole GPUs, and {types[0]} has none that AWS Batch hands out",
            argument="queue",
            value=types[0].name,
            fix="a GpuBatchQueue with a type that has GPUs, such as instance_types=['g6.12xlarge']",
        )
    return Nodes(number=number, host=types[0])


def _gang_words(pools: Sequence[Pool], nodes: Nodes) -> Mapping[str, str]:
    """What a fix about an environment, vCPUs or nodes is for the arguments of a training, which counts hosts."""
    largest = (each.max_instances for each in pools)
    return {
        "Type EC2": "hosts on demand or bought in advance",
        _ON_DEMAND: "a CapacityChoice without Spot hosts",
        f"MaxvCpus {nodes.number * nodes.host.vcpus}": f"max_instances={nodes.number}",
        **{f"NumNodes {most}": f"hosts={most}" for most in largest if not isinstance(most, Unknown)},
    }


def _require_launch(
    launcher: TrainingLauncher, gpus: int, attempt_seconds: int | Unknown | None, retries: BatchRetries
) -> None:
    """Refuses more processes than GPUs, a wait that is longer than an attempt, and exit codes that never come."""
    processes, waits = launcher.processes_per_host, launcher.waits_seconds
    if launcher.tool in START_PYTHON and processes is not None and processes > gpus:
        raise IncompatibleError(
            f"{launcher.tool.value} starts {processes} processes on each host, which has {gpus} GPUs for them",
            argument="processes_per_host",
            value=processes,
            allowed=f"1 to {gpus}",
            fix="leave it out for one for each GPU",
        )
    if waits is not None and isinstance(attempt_seconds, int) and waits >= attempt_seconds:
        raise IncompatibleError(
            f"hosts wait {waits} seconds for each other, and an attempt ends after {attempt_seconds}",
            argument="join_within",
            value=waits,
            allowed=f"less than {attempt_seconds} seconds",
            fix="a shorter join_within, or a longer timeout",
        )
    if launcher.tool is Tool.TORCHRUN and (lost := torchrun.hidden_exit_codes(retries.exit_codes)):
        raise IncompatibleError(
            f"{torchrun.ENDS_AS_ITSELF}, so that {lost[0]} never repeats a training",
            argument="exit_codes",
            value=lost[0],
            allowed=f"{torchrun.EXIT_CODE}, or {torchrun.FIRST_SIGNAL_CODE} to 255",
            fix=f"exit code {torchrun.EXIT_CODE}, which repeats mistakes as well, or another launcher",
        )


def _require_near(environment: BatchEnvironment, seconds: int | Unknown | None) -> None:
    """Refuses hosts in several zones, and a time limit in seconds that is longer than a Capacity Block is there."""
    name, zones, block = environment.pool.name, environment.subnets.zones, environment.purchase.block
    if zones is not None and zones > 1:
        raise IncompatibleError(
            f"the hosts of a training are in one Availability Zone, and the subnets of {name} are in {zones}",
            argument="queue",
            value=zones,
            fix="vpc_subnets=ec2.SubnetSelection(availability_zones=[…]) with the zone that has the hosts",
        )
    starts, ends = (None, None) if block is None else (moment(block.starts), moment(block.ends))
    if starts is None or ends is None or not isinstance(seconds, int):
        return
    there = int((ends - starts).total_seconds())
    if seconds > there:
        raise IncompatibleError(
            f"an attempt may take {seconds // 60} minutes, and the Capacity Block of {name} is there for {there // 60}",
            argument="timeout",
            value=seconds,
            allowed=f"up to {there} seconds",
            fix=f"timeout=cdk.Duration.minutes({there // 60}), and checkpoints",
        )

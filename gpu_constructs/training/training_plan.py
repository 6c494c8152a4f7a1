"""A gang that was asked for, checked against the queue that it is submitted to before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.batch.environment import BatchEnvironment
from gpu_constructs.batch.job_plan import Nodes
from gpu_constructs.cdk.arguments import known_number
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware.aws_limits import MAX_JOB_NODES
from gpu_constructs.rules.evidence.lists import and_list, or_list


def nodes_of(environments: Sequence[BatchEnvironment], hosts: int) -> Nodes:
    """The hosts of a gang, which are all of one type.

    Raises:
        InvalidValueError: It is not a number of hosts that is known at synth.
        IncompatibleError: The environments have several types, or one without GPUs.
    """
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


def gang_words(pools: Sequence[Pool], nodes: Nodes) -> Mapping[str, str]:
    """What a fix about an environment, vCPUs or nodes is for the arguments of a training, which counts hosts."""
    largest = (each.max_instances for each in pools)
    return {
        "Type EC2": "hosts on demand or bought in advance",
        "Type EC2, in a compute environment for these jobs": "a CapacityChoice without Spot hosts",
        f"MaxvCpus {nodes.number * nodes.host.vcpus}": f"max_instances={nodes.number}",
        **{f"NumNodes {most}": f"hosts={most}" for most in largest if not isinstance(most, Unknown)},
    }


def require_place(environments: Sequence[BatchEnvironment]) -> None:
    """Refuses environments whose hosts may be far from each other.

    Raises:
        IncompatibleError: The subnets of one are in several Availability Zones.
    """
    for each in environments:
        zones = each.subnets.zones
        if zones is not None and zones > 1:
            raise IncompatibleError(
                f"the hosts of a training are in one Availability Zone, and the subnets of {each.pool.name} are in "
                f"{zones}",
                argument="queue",
                value=zones,
                fix="vpc_subnets=ec2.SubnetSelection(availability_zones=[…]) with the zone that has the hosts",
            )

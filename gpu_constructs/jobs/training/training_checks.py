"""What a training was asked to start, and where, checked before anything is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2

from gpu_constructs.cdk.arguments import texts
from gpu_constructs.cdk.tokens import is_list_token, is_token
from gpu_constructs.cluster.hosts.network import HostSubnets, require_storage_in
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import Block, Unknown
from gpu_constructs.jobs.data import JobData
from gpu_constructs.jobs.training.training_launcher import Tool, TrainingLauncher

# As `capacity.capacity_block` writes times.
_FORM = "%Y-%m-%dT%H:%M:%SZ"
_EXAMPLE = "['train.py', '--epochs', '3']"
_START_PYTHON = frozenset({Tool.TORCHRUN, Tool.DEEPSPEED})
# What each of them would run as a script, or a second time. JAX's starts any program.
_STARTS_ITSELF = {
    Tool.TORCHRUN: re.compile(r"python[0-9.]*|torchrun|deepspeed|accelerate"),
    Tool.DEEPSPEED: re.compile(r"python[0-9.]*|torchrun|deepspeed|accelerate"),
    Tool.MPI: re.compile(r"mpirun|mpiexec"),
}
_OWN_CODE = 1  # of an exception in Python, which is how torchrun ends whatever its processes ended with
_FIRST_OF_SHELL = 126  # and of signals: what happens to torchrun itself


def words_of(command: Sequence[str], launcher: TrainingLauncher) -> list[str]:
    """The command of a training.

    Raises:
        InvalidValueError: It is no list of text, is empty, or begins with what the launcher starts itself.
    """
    words = texts("command", command, example=_EXAMPLE)
    if not words:
        raise InvalidValueError("names nothing to start", argument="command", value=words, fix=f"command={_EXAMPLE}")
    if any(map(is_list_token, words)):
        raise InvalidValueError(
            "is a list that is only known at deploy time, and the launcher adds its own words to it",
            argument="command",
            fix=f"command={_EXAMPLE}, with text of a parameter in it at most",
        )
    itself = _STARTS_ITSELF.get(launcher.tool)
    if itself is not None and itself.fullmatch(PurePosixPath(words[0]).name):
        takes = "a script of Python" if launcher.tool in _START_PYTHON else "a program"
        rest = words[1:]
        raise InvalidValueError(
            f"begins with {shown(words[0])}, and the launcher starts {launcher.tool.value}, which takes {takes} and "
            "its arguments",
            argument="command",
            value=words,
            fix=f"command={rest if rest and not rest[0].startswith('-') else _EXAMPLE}",
        )
    return words


def require_launch(
    launcher: TrainingLauncher, *, gpus: int, attempt_seconds: int | Unknown, exit_codes: Iterable[int]
) -> None:
    """Refuses a launcher that does not go together with the other arguments of a training.

    Raises:
        IncompatibleError: It has more processes than GPUs, waits longer than an attempt takes, or never ends with an
            exit code.
    """
    processes = launcher.processes_per_host
    if launcher.tool in _START_PYTHON and processes is not None and processes > gpus:
        raise IncompatibleError(
            f"{launcher.tool.value} starts {processes} processes on each host, which has {gpus} GPUs for them",
            argument="processes_per_host",
            value=processes,
            allowed=f"1 to {gpus}",
            fix="leave it out for one for each GPU",
        )
    waits = launcher.waits_seconds
    if waits is not None and isinstance(attempt_seconds, int) and waits >= attempt_seconds:
        raise IncompatibleError(
            f"hosts wait {waits} seconds for each other, and an attempt ends after {attempt_seconds}",
            argument="join_within",
            value=waits,
            allowed=f"less than {attempt_seconds} seconds",
            fix="a shorter join_within, or a longer timeout",
        )
    lost = [each for each in exit_codes if _OWN_CODE < each < _FIRST_OF_SHELL]
    if launcher.tool is Tool.TORCHRUN and lost:
        raise IncompatibleError(
            f"torchrun ends with {_OWN_CODE} whatever its script ends with, so that {lost[0]} never repeats a training",
            argument="exit_codes",
            value=lost[0],
            allowed=f"{_OWN_CODE}, or {_FIRST_OF_SHELL} to 255",
            fix=f"exit code {_OWN_CODE}, which repeats mistakes as well, or another launcher",
        )


def require_mounted(checkpoints: JobData | None, volumes: Sequence[batch.EcsVolume] | None) -> None:
    """Refuses checkpoints in a directory that ends with its container.

    Raises:
        IncompatibleError: The directory is in none of the volumes.
    """
    if checkpoints is None or checkpoints.bucket is not None or is_token(checkpoints.location):
        return
    directory = PurePosixPath(checkpoints.location)
    _require_writable(directory, volumes or ())
    mounted = [each.container_path for each in volumes or ()]
    if not any(is_token(each) or directory.is_relative_to(each) for each in mounted):
        raise IncompatibleError(
            f"{checkpoints.location} is in none of the volumes, so that checkpoints end with their container",
            argument="checkpoints",
            value=checkpoints.location,
            allowed=", ".join(mounted) or None,
            fix=f"batch.EcsVolume.efs(name='shared', container_path={str(directory)!r}, …) in volumes",
        )


def _require_writable(directory: PurePosixPath, volumes: Sequence[batch.EcsVolume]) -> None:
    """Refuses a directory of a volume that is read-only; where volumes are in each other, the innermost counts."""
    around = [each for each in volumes if not is_token(each.container_path)]
    inside = [each for each in around if directory.is_relative_to(each.container_path)]
    innermost = max(inside, key=lambda each: len(PurePosixPath(each.container_path).parts), default=None)
    if innermost is not None and innermost.readonly is True:
        raise IncompatibleError(
            f"{directory} is in the volume {shown(innermost.name)}, which is mounted read-only",
            argument="checkpoints",
            value=str(directory),
            fix=f"readonly=False of {shown(innermost.name)}",
        )


def require_reached(volumes: Sequence[batch.EcsVolume] | None, vpc: ec2.IVpc) -> None:
    """Refuses file systems that are certain to be in another VPC.

    Raises:
        IncompatibleError: One is in another VPC.
    """
    for each in volumes or ():
        if isinstance(each, batch.EfsVolume):
            require_storage_in(vpc.vpc_id, each.file_system.connections, argument="volumes")


def require_one_zone(subnets: HostSubnets, hosts: str) -> None:
    """Refuses hosts that may be far from each other.

    Raises:
        IncompatibleError: The subnets are in several Availability Zones.
    """
    if subnets.zones is not None and subnets.zones > 1:
        raise IncompatibleError(
            f"the hosts of a training are in one Availability Zone, and the subnets of {hosts} are in {subnets.zones}",
            argument="queue",
            value=subnets.zones,
            fix="vpc_subnets=ec2.SubnetSelection(availability_zones=[…]) with the zone that has the hosts",
        )


def require_time(name: str, block: Block | None, seconds: int | Unknown) -> None:
    """Refuses a time limit in seconds that is longer than a Capacity Block is there.

    Raises:
        IncompatibleError: The block ends before an attempt that starts with it has to.
    """
    starts, ends = (None, None) if block is None else (_time(block.starts), _time(block.ends))
    if starts is None or ends is None or isinstance(seconds, Unknown):
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


def _time(written: str | Unknown | None) -> datetime | None:
    try:
        return datetime.strptime(written, _FORM) if isinstance(written, str) else None  # noqa: DTZ007 - all are UTC
    except ValueError:  # before the year 1000
        return None

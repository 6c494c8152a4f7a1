"""What starts the processes of a training, and where they find each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk

from gpu_constructs.cdk.arguments import known_number, texts, whole_number
from gpu_constructs.cdk.durations import whole_seconds
from gpu_constructs.cdk.kinds import names_checked, require_kinds, with_names_checked
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Unknown
from gpu_constructs.training.launcher_script import Tool, script_of

_DEFAULT_PORT = 29500
_JOIN_SECONDS = 1800
_SHELL = "/bin/sh"


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLauncher:
    """What starts the processes of a training on each host. Made by one of the class methods; by default `torchrun`.

    The launcher is a script for ``/bin/sh`` in the command of the container, which every image with a shell can run.
    Rank 0 is on the main host.

    Attributes:
        tool: What starts the processes.
        processes_per_host: How many there are; None for one for each GPU.
        port: The port of the main host where the others join.
        join_within: How long hosts wait for each other with `torchrun` and `mpi`; None for half an hour, or for
            `start_within` of a `ClusterTraining` where that is longer. A host may still pull its image.
    """

    tool: Tool = Tool.TORCHRUN
    processes_per_host: int | None = None
    port: int = _DEFAULT_PORT
    join_within: cdk.Duration | None = None

    def __post_init__(self) -> None:
        """Refuses values of another kind.

        Raises:
            InvalidValueError: An argument is out of its limits, or only known at deploy time.
        """
        if not isinstance(self.tool, Tool):
            raise InvalidValueError(
                f"expects a tool, got {shown(self.tool)}",
                argument="tool",
                value=self.tool,
                fix="TrainingLauncher.torchrun(), .deepspeed(), .jax() or .mpi()",
            )
        require_kinds(TrainingLauncher.__init__, {"join_within": self.join_within})
        _require_used(self)
        number = 1 if self.processes_per_host is None else self.processes_per_host
        counted = whole_number("processes_per_host", number, smallest=1, fix="leave it out for one for each GPU")
        port = whole_number("port", self.port, smallest=1024, largest=65535, fix=f"port={_DEFAULT_PORT}")
        if isinstance(counted, Unknown) or isinstance(port, Unknown) or isinstance(self._seconds, Unknown):
            raise InvalidValueError(
                "the launcher is a text that is written at synth, and this value is only known at deploy time",
                argument="processes_per_host, port or join_within",
                fix="numbers from context instead of parameters",
            )

    @classmethod
    @names_checked
    def torchrun(
        cls,
        *,
        processes_per_host: int | None = None,
        port: int = _DEFAULT_PORT,
        join_within: cdk.Duration | None = None,
    ) -> TrainingLauncher:
        """``torchrun``, of PyTorch: the command is a script of Python and its arguments.

        Hosts have fixed ranks (static rendezvous): with its other backends rank 0, which writes checkpoints, may be on
        a host that is stopped as soon as the main one ends.

        Args:
            processes_per_host: See `TrainingLauncher`.
            port: See `TrainingLauncher`.
            join_within: See `TrainingLauncher`.

        Raises:
            InvalidValueError: An argument is out of its limits.
        """
        return cls(tool=Tool.TORCHRUN, processes_per_host=processes_per_host, port=port, join_within=join_within)

    @classmethod
    @names_checked
    def deepspeed(cls, *, processes_per_host: int | None = None, port: int = _DEFAULT_PORT) -> TrainingLauncher:
        """``deepspeed`` without SSH: the command is a script of Python and its arguments.

        The script sets how long hosts wait for each other: ``deepspeed.init_distributed(timeout=…)``.

        Args:
            processes_per_host: See `TrainingLauncher`.
            port: See `TrainingLauncher`.

        Raises:
            InvalidValueError: An argument is out of its limits.
        """
        return cls(tool=Tool.DEEPSPEED, processes_per_host=processes_per_host, port=port)

    @classmethod
    @names_checked
    def jax(cls, *, port: int = _DEFAULT_PORT) -> TrainingLauncher:
        """JAX: the command runs once on each host, with all its GPUs.

        It calls ``jax.distributed.initialize(num_processes=…, process_id=…)`` with the variables ``JAX_NUM_PROCESSES``
        and ``JAX_PROCESS_ID``, and with an ``initialization_timeout`` of as long as hosts take to pull their image; JAX
        reads ``JAX_COORDINATOR_ADDRESS`` itself.

        Args:
            port: See `TrainingLauncher`.

        Raises:
            InvalidValueError: The port is none.
        """
        return cls(tool=Tool.JAX, processes_per_host=1, port=port)

    @classmethod
    @names_checked
    def mpi(
        cls, *, processes_per_host: int | None = None, port: int = 2222, join_within: cdk.Duration | None = None
    ) -> TrainingLauncher:
        """``mpirun`` of Open MPI, on the main host: the command is a program and its arguments.

        The image has ``sshd`` with keys of its own, and a key in ``~/.ssh`` that it lets in itself; whoever can pull
        the image can read that key. Each process gets the variables of the container on its own host.

        Args:
            processes_per_host: See `TrainingLauncher`.
            port: The port of ``sshd`` on each host.
            join_within: See `TrainingLauncher`.

        Raises:
            InvalidValueError: An argument is out of its limits.
        """
        return cls(tool=Tool.MPI, processes_per_host=processes_per_host, port=port, join_within=join_within)

    @property
    def _seconds(self) -> int | Unknown:
        return _JOIN_SECONDS if self.join_within is None else whole_seconds("join_within", self.join_within, smallest=1)

    @property
    def waits_seconds(self) -> int | None:
        """How long hosts wait for each other; None where that was not given."""
        seconds = None if self.join_within is None else self._seconds
        return None if isinstance(seconds, Unknown) else seconds

    def command(self, command: Sequence[str], *, gpus: int, start_seconds: int = 0) -> list[str]:
        """The command of the container.

        Args:
            command: What the tool starts.
            gpus: GPUs of each host, 1 or more.
            start_seconds: How long it may take until all hosts run. Where `join_within` says nothing else, those that
                run wait at least as long for the others.

        Raises:
            InvalidValueError: An argument is wrong by itself.
        """
        words = texts("command", command, example="['train.py', '--epochs', '3']")
        known_number("gpus", gpus, smallest=1, unit="GPUs", fix="gpus=8", why="is written into the launcher at synth")
        seconds = self._seconds
        if self.join_within is None and not isinstance(seconds, Unknown):
            seconds = max(seconds, start_seconds)
        script = script_of(
            self.tool,
            processes=self.processes_per_host or gpus,
            port=self.port,
            join_seconds=0 if isinstance(seconds, Unknown) else seconds,
        )
        return [_SHELL, "-c", script, "launcher", *words]


def _require_used(launcher: TrainingLauncher) -> None:
    """Refuses what the tool would leave out of account."""
    tool = launcher.tool
    if launcher.join_within is not None and tool not in (Tool.TORCHRUN, Tool.MPI):
        raise InvalidValueError(
            f"with {tool.value} the script itself says how long hosts wait for each other",
            argument="join_within",
            value=launcher.join_within,
            fix="leave it out, and give the time to the script",
        )
    if tool is Tool.JAX and launcher.processes_per_host not in (None, 1):
        raise InvalidValueError(
            "jax has one process on each host, with all its GPUs",
            argument="processes_per_host",
            value=launcher.processes_per_host,
            allowed="1",
            fix="leave it out",
        )

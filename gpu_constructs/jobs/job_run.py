"""What each attempt of a job runs, the variables that its container gets, and how often it is run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from gpu_constructs.cdk.arguments import exit_code, known_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.errors import unexpected
from gpu_constructs.facts.values import dataclass

NAME, ATTEMPT, INPUT, CHECKPOINTS = "JOB_NAME", "JOB_ATTEMPT", "JOB_INPUT", "JOB_CHECKPOINTS"
VARIABLES = frozenset({NAME, ATTEMPT, INPUT, CHECKPOINTS})
"""Variables of the job's container: the execution, which attempt it is, from 0, the execution's input as JSON, and
where it keeps what it resumes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What each attempt of a job runs.

    Attributes:
        cluster: The ARN of the cluster.
        task_definition: The ARN of the task definition.
        container: The container whose exit code is that of the job.
        strategy: Items of the capacity provider strategy, as the API has them.
        network: The configuration of ``awsvpc``, as the API has it; None in other modes.
        packed: Whether tasks are packed onto hosts, which Managed Instances do by themselves.
        environment: More variables of that container.
        checkpoints: Where it has a directory to resume from; None without.
        checkpoint_key: The directory there, or where the execution says it, such as ``$$.Execution.Name``.
        timeout_seconds: How long one attempt may take.
        spot: Those capacity providers of the strategy whose hosts may be Spot.
    """

    partition: str
    cluster: str
    task_definition: str
    family: str
    container: str
    strategy: Sequence[Mapping[str, object]]
    network: Mapping[str, Sequence[str]] | None
    packed: bool
    environment: Mapping[str, str]
    checkpoints: str | None
    timeout_seconds: int
    spot: Sequence[str] = ()
    checkpoint_key: str = ""


_MOST = 100
_MOST_CODES = 10


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class JobRetries:
    """How often a job is run again, for each cause by itself; a job that ended well is never run again.

    Args:
        no_host: After no host came. ECS waits for one for 10 to 30 minutes each time, which cannot be configured, see
            https://github.com/aws/containers-roadmap/issues/2381. Each attempt has the same strategy: a retry does not
            move to the next capacity of `GpuCluster.add_fallback`.
        not_started: After a host came and the containers did not start, for example because an image was not pulled.
        lost_host: After the host was interrupted by EC2 Spot, terminated, or failed. On capacity that may be Spot, an
            end with exit code 137, 143 or none counts as well, because so ends what ran on a host that is taken back;
            not where the container had too little memory, and not a code that `exit_codes` has.
        exit_codes: After the job's container ended with one of these codes, 1 to 255: ``{75: 2}`` runs it again up to
            twice after code 75. Any other code than 0 fails the job at once.
    """

    no_host: int = 3
    not_started: int = 2
    lost_host: int = 5
    exit_codes: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("no_host", "not_started", "lost_host"):
            _times(name, getattr(self, name), fix=f"{name}=3")
        codes = self.exit_codes
        if not isinstance(codes, Mapping) or len(codes) > _MOST_CODES:
            raise unexpected(
                "exit_codes",
                codes,
                "retries by exit code",
                allowed=f"up to {_MOST_CODES} codes",
                fix="exit_codes={75: 2}",
            )
        for code, times in codes.items():
            exit_code("exit_codes", code, fix="exit_codes={75: 2}")
            _times("exit_codes", times, fix=f"exit_codes={{{code}: 2}}")
        object.__setattr__(self, "exit_codes", MappingProxyType(dict(sorted(codes.items()))))

    @property
    def attempts(self) -> int:
        """How often a job runs at most, the first attempt included."""
        # That ECS does not take a task at all is counted apart from a task that got no host, and from one that did
        # not start.
        return 1 + 2 * (self.no_host + self.not_started) + self.lost_host + sum(self.exit_codes.values())


def _times(argument: str, value: int, *, fix: str) -> None:
    known_number(argument, value, smallest=0, largest=_MOST, unit="retries", fix=fix, why="bounds no retries")

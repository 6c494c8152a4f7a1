"""What starts work that ends: states of state machines, and what is submitted to queues of AWS Batch.

Only templates say so. How many copies such a call of ``RunTask`` starts, and where, is a `Workload`.
"""

from __future__ import annotations

from dataclasses import field

from gpu_constructs.facts.values import Named, dataclass
from gpu_constructs.fleet.origin import Origin
from gpu_constructs.fleet.task import Task
from gpu_constructs.fleet.unknown import Unknown


class Starter(Named):
    """What starts the copies of a task: a service, which keeps them running, or something that calls ``RunTask``."""

    SERVICE = "service"
    RULE = "EventBridge rule"
    SCHEDULE = "schedule"
    PIPE = "pipe"
    STATE_MACHINE = "state machine"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A state of a state machine that runs a task or a job.

    Attributes:
        name: How its workload or its job is called.
        task: What it runs; None where the files that were read do not define it.
        waits: Whether it waits until that ends.
        is_limited: Whether something ends it at some time: a time limit, of the state or of the whole execution.
        limit_seconds: Seconds after which Step Functions ends what the state runs, as its own time limit says; None
            without, and where it does not wait for the end itself.
        whole_seconds: Likewise, as the time limit of the whole execution says.
        attempts: How often Step Functions starts that at most by its ``Retry`` and those of the states around it.
        may_come_back: Whether a way may lead from it, or a state around it, to the same one.
        way_back: States that lead from its failure back to it, the last one before it last; None where there is no such
            way, or something on it may end it.
    """

    name: str
    task: Task | None
    waits: bool = False
    is_limited: bool | Unknown = False
    limit_seconds: int | Unknown | None = None
    whole_seconds: int | Unknown | None = None
    attempts: int | Unknown = 1
    may_come_back: bool = False
    way_back: tuple[str, ...] | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueue:
    """A queue of AWS Batch.

    Attributes:
        wait_seconds: After how long each of its time limits cancels a job that waits for its hosts; none without.
    """

    name: str
    has_shares: bool | Unknown = False
    wait_seconds: tuple[int | Unknown, ...] = ()
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What submits a job to a queue.

    Attributes:
        queue: The queue; None where the files that were read do not define it.
        task: The job; None where they do not define that.
        priority: Whether it or its job definition sets a scheduling priority.
        attempt_seconds: Seconds after which an attempt ends, where it says so itself.
        attempts: How often the job is tried at most, likewise.
        copies: Jobs of the array that it submits; None for one job, which is no array.
    """

    name: str
    starter: Starter
    queue: JobQueue | None
    task: Task | None = None
    share: bool | Unknown = False
    priority: bool | Unknown = False
    attempt_seconds: int | Unknown | None = None
    attempts: int | Unknown | None = None
    copies: int | Unknown | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

"""Has the history of one execution room for all attempts of a training on a cluster?

Step Functions ends an execution with more than 25,000 events, whatever its tasks do
(https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html). Each host of each attempt adds some.
"""

from __future__ import annotations

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.jobs.retries import JobRetries
from gpu_constructs.training.gang_states import attempts_of

_MOST_EVENTS = 25_000
# Of an attempt whose main task runs at the first look, and of which nothing is left to be stopped.
_LEAST, _LEAST_OF_HOST = 70, 5
# With some looks until the main task runs, the look at all tasks, and their stops.
_USUAL, _USUAL_OF_HOST = 200, 17


def require_room(hosts: int, retries: JobRetries) -> None:
    """Refuses retries after lost hosts and exit codes that no execution has room for.

    Raises:
        IncompatibleError: Attempts that ran on all hosts have more events than an execution may have.
    """
    most = _MOST_EVENTS // (_LEAST + _LEAST_OF_HOST * hosts)
    attempts = 1 + retries.lost_host + sum(retries.exit_codes.values())
    if attempts > most:
        raise IncompatibleError(
            f"Step Functions ends an execution after {_MOST_EVENTS:,} events, before {attempts} attempts on {hosts} "
            "hosts",
            argument="retries",
            value=attempts,
            allowed=f"lost_host and exit_codes up to {most - 1} together",
            fix="JobRetries(lost_host=10), and a start by hand after that; checkpoints can be read again",
        )


def long_history(hosts: int, retries: JobRetries) -> str | None:
    """What happens where usual attempts have more events than an execution may have, in words; None otherwise."""
    attempts = attempts_of(retries)
    room = _MOST_EVENTS // (_USUAL + _USUAL_OF_HOST * hosts)
    if attempts <= room:
        return None
    return (
        f"Step Functions ends an execution after {_MOST_EVENTS:,} events, which about {room} attempts on {hosts} hosts "
        f"have, and retries allow {attempts}: fewer retries, such as JobRetries(lost_host=10), end with their own error"
    )

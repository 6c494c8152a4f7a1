"""The state machine that takes a host out of its cluster and has it replaced, in the Amazon States Language.

It starts with an event: a GPU failed, or EC2 is about to take a Spot host. `which_host` reads the event, looks whether
the host is one of ours, and takes one of the day's replacements. `draining` empties the host, and `replacement` has it
replaced. Each execution holds its host: a second one for the same host stops the tasks on another GPU that failed, or
ends without doing anything. One that fails lets its host go, so that the next event begins again.
"""

from __future__ import annotations

from gpu_constructs.cdk.state_parts import State, choice_state, is_there
from gpu_constructs.monitoring.recovery.draining import draining_states, longest_drain_seconds
from gpu_constructs.monitoring.recovery.recovery_run import ENDS_BY_ITSELF, GIVES_UP, RecoveryRun, gives_up, tell
from gpu_constructs.monitoring.recovery.replacement import LONGEST_REPLACEMENT_SECONDS, replacement_states
from gpu_constructs.monitoring.recovery.which_host import first_states, release_host

# What the calls take, with their retries.
_MARGIN_SECONDS = 3600


def recovery_definition(run: RecoveryRun) -> State:
    """The definition of the machine."""
    return {
        "Comment": "Drains and replaces hosts whose GPUs failed, and hosts that EC2 takes back",
        "StartAt": "Known",
        "TimeoutSeconds": longest_drain_seconds(run) + LONGEST_REPLACEMENT_SECONDS + _MARGIN_SECONDS,
        "States": {
            **first_states(run),
            **draining_states(run),
            **replacement_states(run),
            ENDS_BY_ITSELF: {"Type": "Succeed"},
            "Failed": tell(
                run,
                "did not end",
                "What was begun has to be looked after by hand: {}: {}",
                "$.error.Error",
                "$.error.Cause",
                following="NotRecovered",
            ),
            "NotRecovered": gives_up("NotRecovered", "{}: {}", "$.error.Error", "$.error.Cause"),
            GIVES_UP: release_host(run, following="Over"),
            "Over": choice_state([{**is_there("$.error"), "Next": "GivenUp"}], ENDS_BY_ITSELF),
            "GivenUp": {"Type": "Fail", "ErrorPath": "$.error.Error", "CausePath": "$.error.Cause"},
        },
    }

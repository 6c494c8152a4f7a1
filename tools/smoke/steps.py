"""The steps, and the end, which comes whatever happens before it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from gpu_constructs.errors import GpuConstructsError
from tools.smoke.account import Account, Said, recording
from tools.smoke.app import CAPACITY, SERVICE, STACK

__all__ = ["DESTROY", "STEPS", "Done", "run"]

_Act = Callable[[Account], Said]


class Done(NamedTuple):
    """A step that was tried, with the calls of boto3 that it took."""

    step: str
    passed: bool
    facts: object
    seconds: int
    calls: list[dict[str, Any]]

    @property
    def unanswered(self) -> list[str]:
        """Why calls were not answered, such as for a permission that is missing; a command may do without them."""
        return [*dict.fromkeys(each["unanswered"] for each in self.calls if "unanswered" in each)]


_DEPLOY = ("--require-approval", "never")
DESTROY = "destroy"
STEPS: tuple[tuple[str, str, _Act], ...] = (
    ("preflight", "", lambda it: it.command("preflight", str(it.assembly(0)))),
    ("deploy", "preflight", lambda it: it.cdk("deploy", 0, *_DEPLOY)),
    ("self-test", "deploy", lambda it: it.command("run-self-test", STACK, "--capacity", CAPACITY)),
    ("job", "deploy", lambda it: it.job()),
    ("update", "deploy", lambda it: it.cdk("deploy", 1, *_DEPLOY)),
    ("why", "update", lambda it: it.command("why", SERVICE, "--cluster", it.output("ClusterName"))),
    ("verify", "deploy", lambda it: it.command("verify", STACK)),
)
"""The steps, each with the one that it needs. Before the update, no task of the service holds the GPU of the host."""

_INTERRUPTED = {"error": "it was interrupted"}


def run(account: Account, done: list[Done], tell: Callable[[str], object]) -> None:
    """Does the steps, those without what they need left out, and destroys what was deployed.

    Args:
        account: Where.
        done: Gets each step as it ends, so that they are known whatever ends this.
        tell: Gets the name of each step.
    """
    begun = False
    try:
        for name, needs, act in STEPS:
            if needs in {"", *(each.step for each in done if each.passed)}:
                tell(name)
                begun = begun or name == "deploy"
                done.append(_tried(name, act, account))
                if done[-1].facts == _INTERRUPTED:
                    return
    except KeyboardInterrupt:  # between two steps
        return
    finally:
        if begun:
            with suppress(OSError, KeyboardInterrupt):  # the terminal may be gone, and nothing may keep from destroying
                tell(DESTROY)
            done.append(_tried(DESTROY, lambda it: _destroyed(it, done), account))


def _tried(name: str, act: _Act, account: Account) -> Done:
    started = time.monotonic()
    with recording() as calls:
        try:
            said = act(account)
        except KeyboardInterrupt:
            said = Said(passed=False, facts=_INTERRUPTED)
        except GpuConstructsError as error:
            said = Said(passed=False, facts={"error": str(error)})
        except Exception as error:  # noqa: BLE001 - whatever it is, what was deployed has to go
            said = Said(passed=False, facts={"error": f"{type(error).__name__}: {error}"})
    return Done(name, *said, round(time.monotonic() - started), calls)


def _destroyed(account: Account, done: list[Done]) -> Said:
    """Each part is tried, whatever became of the one before it; an interruption ends it from ``cdk destroy`` on."""
    calls = [call for each in done for call in each.calls]
    made = any(each["operation"] == "CreateLogGroup" and "Error" not in each["answer"] for each in calls)
    parts: tuple[tuple[str, _Act], ...] = (
        ("settled", lambda it: it.settled()),
        ("stop-tasks", lambda it: it.command("stop-tasks", STACK, "--yes")),
        ("cdk destroy", lambda it: it.cdk("destroy", 0, "--force")),
        ("logs", lambda it: it.without_logs(made=made)),
        ("gone", lambda it: it.gone()),
    )
    ended: dict[str, Done] = {}
    for name, act in parts:
        ended[name] = _tried(name, act, account)
        if ended[name].facts == _INTERRUPTED and "cdk destroy" in ended:
            break
    is_gone = all(name in ended and ended[name].passed for name in ("cdk destroy", "logs", "gone"))
    return Said(is_gone, {name: each.facts for name, each in ended.items()})

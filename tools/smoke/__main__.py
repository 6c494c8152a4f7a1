"""``make smoke``: says what it costs and asks, deploys, tries, records, destroys, and says what was found.

exit codes: 0 all was as it should be, 1 something was not, 2 nothing was deployed
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.facts.names import SELF_TEST
from gpu_constructs.facts.prices import dollars
from tools.smoke.account import Account
from tools.smoke.app import STACK
from tools.smoke.findings import costs, findings
from tools.smoke.scrub import Json, scrubbed
from tools.smoke.steps import DESTROY, STEPS, Done, run

__all__ = ["main"]

_HOURS, _MOST_HOURS = 0.5, 2
_REMOVE_STACK = f"""\
a stack {STACK}, or a part of it, and may cost money; to remove it, once CloudFormation is done with it:
  gpu-constructs stop-tasks {STACK} --yes
  aws cloudformation delete-stack --stack-name {STACK}"""
_REMOVE_LOGS = f"  aws logs delete-log-group --log-group-name {SELF_TEST}"
_WORDS = {True: "ok", False: "failed", None: "not tried"}


def main(
    arguments: Sequence[str] | None = None,
    *,
    of: Callable[[Path], Account] = Account,
    ask: Callable[[str], str] = input,
) -> int:
    """Does it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make smoke", description=__doc__)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--record", type=Path, default=Path("smoke.out"), help="an empty folder for what AWS answered")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gpu-constructs-smoke-") as folder:
        try:
            if given.record.exists() and any(given.record.iterdir()):
                return _nothing(f"{given.record} is not empty; fix: RECORD=FOLDER, another folder")
            account = of(Path(folder))
            where, region = account.calls.ask("sts:GetCallerIdentity")["Account"], account.session.region_name
            if not account.gone().passed:
                return _nothing(f"there is {_REMOVE_STACK}\n{_REMOVE_LOGS}")
            _tell(f"account {where}, {region}: the stack {STACK} is deployed, tried and deleted, for, at list prices:")
            _tell_costs(region)
            if not given.yes:
                _require_yes(ask)
            given.record.mkdir(parents=True, exist_ok=True)
        except (EOFError, KeyboardInterrupt):
            return _nothing("nothing was deployed")
        except OSError as problem:
            return _nothing(f"{problem}; fix: RECORD=FOLDER, another folder")
        except GpuConstructsError as problem:
            fix = "credentials that may, and a region, as the AWS CLI takes them"
            return _nothing(f"nothing was deployed: {problem.problem}; fix: {fix}")
        return _run(account, given.record)


def _tell_costs(region: str | None) -> None:
    usual, most = costs(_HOURS, region), costs(_MOST_HOURS, region)
    for what, usd in {**usual, "in all, in half an hour": sum(usual.values())}.items():
        _tell(f"  {dollars(usd):>6}  {what}")
    _tell(f"  {dollars(sum(most.values())):>6}  in all, if the host runs for {_MOST_HOURS} hours")


def _require_yes(ask: Callable[[str], str]) -> None:
    if ask("Deploy? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise EOFError


def _run(account: Account, folder: Path) -> int:
    done: list[Done] = []
    before = {each: signal.signal(each, _interrupted) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        run(account, done, lambda step: _tell(f"{step} …"))
    finally:
        before[signal.SIGINT] = signal.getsignal(signal.SIGINT)
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # what was paid for is written, whoever has had enough
        _record(done, folder)
        for each, handler in before.items():
            signal.signal(each, handler)
        _report(done)
    return 0 if len(done) > len(STEPS) and all(each.passed and not each.unanswered for each in done) else 1


def _interrupted(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _record(done: Sequence[Done], folder: Path) -> None:
    recorded: Json = scrubbed(json.loads(json.dumps({each.step: each._asdict() for each in done})))
    for number, (step, each) in enumerate(recorded.items() if isinstance(recorded, dict) else (), start=1):
        (folder / f"{number}-{step}.json").write_text(json.dumps(each, indent=1) + "\n", encoding="utf-8")
    _tell(f"what AWS answered is in {folder}, without ids, names and addresses")


def _report(done: Sequence[Done]) -> None:
    for row, verdict, steps in findings(done):
        word = "in part" if verdict is None and steps else _WORDS[verdict]
        _tell(f"  {word:<9}  {row}{f': {steps}' if steps else ''}")
    for each in done:
        if not each.passed:
            _tell(f"{each.step} failed: {json.dumps(each.facts)[-1000:]}")
        for why in each.unanswered:
            _tell(f"{each.step} got no answer: {why}")
    for line in _left(done):
        _tell(line)


def _left(done: Sequence[Done]) -> Iterator[str]:
    """What is left in the account, with the commands that remove it."""
    ends = {each.step: each.facts for each in done if isinstance(each.facts, dict)}
    said = ends.get("self-test", {}).get("said") or {}
    yield from (f"left by the self-test: {each}" for each in said.get("left_behind", ()) if " still " in each)
    if done and done[-1].step == DESTROY and not done[-1].passed:
        parts = ends[DESTROY]
        if (found := parts.get("gone")) != []:
            yield f"there {'is' if isinstance(found, list) else 'may be'} {_REMOVE_STACK}"
        if parts.get("logs", "") is not None:
            yield f"there may be the log group of the self-test; to remove it, once its task has ended:\n{_REMOVE_LOGS}"


def _nothing(why: str) -> int:
    _tell(why)
    return 2


def _tell(line: str) -> None:
    with suppress(OSError):  # of a terminal that is closed
        sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())

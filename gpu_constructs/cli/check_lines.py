"""The checks of a cluster, as they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.budget import LABEL, MESSAGE, brief
from gpu_constructs.cli.terminal import Line, wrapped, wrapped_fix
from gpu_constructs.live.verified import Check

_PLACES = {True: 0, None: 1, False: 2}
_WORDS = {True: ("ok", "good"), False: ("fails", "error"), None: ("not checked", "warning")}


def lines_of(
    cluster: str, checks: Sequence[Check], *, denied: Sequence[str] = (), width: int, passed: bool = True
) -> Iterator[Line]:
    """The checks of a cluster, for people to read; those that fail last, where a terminal ends."""
    yield [("cluster ", ""), (brief(cluster, LABEL), "title")]
    for check in sorted(checks, key=lambda each: _PLACES[each.passed]):
        if check.passed and not passed:
            continue
        word, style = _WORDS[check.passed]
        yield [(f"  {word:<11} ", style), (f"{check.name}: {brief(check.about, LABEL)}", "")]
        for part in wrapped(brief(check.text, MESSAGE), width=width, indent=14):
            yield [(" " * 14 + part, "aside")]
        for number, part in enumerate(wrapped_fix(check.fix, width=width, indent=19) if check.fix else ()):
            yield [(" " * 14 + "fix: " if not number else " " * 19, "good"), (part, "")]
    for part in wrapped(f"not looked at: {', '.join(denied)}", width=width, indent=2) if denied else ():
        yield [(f"  {part}", "warning")]
    failed = sum(each.passed is False for each in checks)
    unknown = sum(each.passed is None for each in checks)
    summary = f"{len(checks)} check{'' if len(checks) == 1 else 's'}, {failed} failed, {unknown} not checked"
    nothing = "nothing could be checked" if denied else "nothing was there to check"
    style = "error" if failed else "warning" if denied or unknown else "good"
    yield [(summary if checks else nothing, style)]


def facts_of(cluster: str, checks: Sequence[Check], *, denied: Sequence[str] = ()) -> dict[str, object]:
    """The checks of a cluster, for programs to read."""
    return {
        "cluster": cluster,
        "checks": [
            {
                "check": each.name,
                "about": each.about,
                "passed": each.passed,
                "verdict": _WORDS[each.passed][0],
                "text": each.text,
                "fix": each.fix,
            }
            for each in checks
        ],
        "not_looked_at": list(denied),
    }

"""Prints recall per class on the broken configurations and precision on the good ones: python -m tests.acceptance.

With --shrink it takes what is named by now out of the lists of known misses.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.acceptance.recall import by_class, expectations, false_errors, good_files, judged


def main() -> None:
    """Prints the table, then each fault that is not named, and each that is said of another resource."""
    if "--shrink" in sys.argv[1:]:
        shrink()
    print(table())  # noqa: T201 - a report


def shrink() -> None:
    """Takes what is named, and what is in its place, out of `known_misses.py`."""
    path = Path(__file__).with_name("known_misses.py")
    every = [judged(each) for each in expectations()]
    keep = {f'    "{each.expected.file}": ' for each in every if each.why_missed}
    keep |= {f'    "{each.expected.file}",' for each in every if each.why_misplaced}
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(
        "".join(line for line in lines if not line.startswith('    "') or line.startswith(tuple(keep))),
        encoding="utf-8",
    )


def table() -> str:
    """Recall of each class, precision, and what is missing."""
    every = [judged(each) for each in expectations()]
    lines = [f"{'class':18} {'broken':>6} {'named':>6} {'recall':>7} {'of the resource':>16} {'of the property':>16}"]
    for kind, cases in [*by_class(every).items(), ("all", every)]:
        named = [each for each in cases if not each.why_missed]
        placed, exact = sum(not each.why_misplaced for each in named), sum(each.is_at_the_property for each in named)
        lines.append(f"{kind:18} {len(cases):6} {len(named):6} {len(named) / len(cases):7.0%} {placed:16} {exact:16}")
    wrong, good = false_errors(), good_files()
    lines.append(f"good: {len(good)}, without an error: {len(good) - len(wrong)} ({1 - len(wrong) / len(good):.0%})")
    lines += [
        f"  {each.expected.severity:7} {each.expected.file}: {each.why_missed}" for each in every if each.why_missed
    ]
    lines += [
        f"  of another resource: {each.expected.file}: {each.why_misplaced}" for each in every if each.why_misplaced
    ]
    lines += [f"  beside it: {each.expected.file}: {other}" for each in every for other in each.other_errors]
    lines += [f"  false: {name}: {error}" for name, errors in wrong.items() for error in errors]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""Patterns mean what they mean to git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs.check.patterns import Patterns

STEPS = st.sampled_from(["a", "b", "a.json", "b.yaml", "*", "?", "*.json", "**", "[ab]", "[!a]", "a*", r"\*"])
PATTERNS = st.builds(
    lambda sign, start, steps, end: f"{sign}{start}{'/'.join(steps)}{end}",
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(STEPS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
FILES = ["a", "a.json", "b.yaml", "d/a", "d/a.json", "d/b/a.json", "b/a/b.yaml", "b/ab/a", "a b/*"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.one_of(PATTERNS, st.just("# a"), st.just("")), max_size=4))
def test_the_same_files_are_ignored(lines: list[str], tmp_path: Path) -> None:
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S607 - git of the path
    (tmp_path / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
    told = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"],  # noqa: S607
        cwd=tmp_path,
        input="\0".join(FILES).encode(),
        capture_output=True,
        check=False,
    )
    patterns = Patterns(lines)
    assert [each for each in FILES if patterns.means(each)] == told.stdout.decode().split("\0")[:-1]

"""``make changelog`` moves the lines of ``changes/`` into ``CHANGELOG.md``; with a tag, says what stops its release.

A file ``changes/NAME.SECTION.md`` holds lines for the section whose heading is SECTION in small letters with hyphens.
"""

# ruff: noqa: T201 - what it prints is for its caller

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["VERSIONED", "gathered", "main", "problems"]

_ROOT = Path(__file__).parents[1]
VERSIONED = ("pyproject.toml", "with_cdk/pyproject.toml", "ecs_emulator/pyproject.toml")


def main(words: Sequence[str], root: Path = _ROOT) -> int:
    """Gather the fragments, or judge a tag.

    Args:
        words: A tag such as ``v0.2.0``, or nothing.
        root: The checkout.

    Returns:
        0 if all is well, else 1.
    """
    said = problems(words[0], root) if words else _gather(root)
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


def problems(tag: str, root: Path) -> list[str]:
    """What keeps this tag from being released."""
    found = {
        name: re.search(r'^version = "(.+)"$', (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in VERSIONED
    }
    heading = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    versions = {name: match and match[1] for name, match in {**found, "CHANGELOG.md": heading}.items()}
    other = [f"{name}: the version is {said}, the tag {tag}" for name, said in versions.items() if tag != f"v{said}"]
    return [*other, *(f"changes/{name}: not in CHANGELOG.md yet; fix: make changelog" for name in _fragments(root))]


def gathered(changelog: str, fragments: Mapping[str, str]) -> tuple[str, list[str]]:
    """The changelog, with these lines in its newest version at the ends of their sections, and wrong names."""
    head, newest, rest = re.split(r"^(?=## )", changelog + "\n## ", maxsplit=2, flags=re.MULTILINE)
    parts = re.split(r"^(?=### )", newest, flags=re.MULTILINE)
    of = {re.sub(r"\W+", "-", part.splitlines()[0].lower()).strip("-"): at for at, part in enumerate(parts) if at}
    wrong = []
    for name, text in sorted(fragments.items()):
        section = name.split(".")[-2] if name.count(".") > 1 else ""
        if section not in of:
            wrong.append(f"changes/{name}: no section {section or '(none)'}; one of: {', '.join(of)}")
        elif not text.startswith("- "):
            wrong.append(f"changes/{name}: has to begin with '- '")
        else:
            parts[of[section]] = f"{parts[of[section]].rstrip()}\n{text.rstrip()}\n\n"
    whole = head + "".join(parts).rstrip() + "\n\n" + rest
    return whole.removesuffix("## ").rstrip() + "\n", wrong


def _gather(root: Path) -> list[str]:
    fragments, changelog = _fragments(root), root / "CHANGELOG.md"
    text, wrong = gathered(changelog.read_text(encoding="utf-8"), fragments)
    if not wrong:
        changelog.write_text(text, encoding="utf-8")
        for name in fragments:
            (root / "changes" / name).unlink()
    return wrong


def _fragments(root: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "changes").glob("*.md"))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes the site: ``python -m tools.build_site``, from the top, builds ``.site/html/index.html``.

The pages of ``docs/`` are joined by what is made of the package (a page for each rule, the reference), by a page for
each story of the gallery and by files beside ``docs/``. A link to a file that is not on the site becomes its path.
Zensical builds it, and stops at a broken link.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpu_constructs.cli.new import stories
from tools.reference_pages import parts, reference_pages, sections
from tools.rule_pages import rule_pages, subjects
from tools.stories import story_pages

__all__ = ["NAVIGATION", "build", "pages"]

_ROOT = Path(__file__).parents[1]
_DOCS = _ROOT / "docs"
_BESIDE = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "reporting.md": "SECURITY.md",
}
"""Pages of the site that are files beside ``docs/``."""

NAVIGATION: Mapping[str, Mapping[str, str]] = {
    "Start": {
        "gpu-constructs": "index.md",
        "In your app": "guide.md",
        "Should I use it?": "comparison.md",
        "Apps to start from": "gallery.md",
        "The reference stacks": "stacks.md",
        "Deploy without an account": "emulator.md",
        "What only an account can prove": "account.md",
    },
    "Do": {
        "Serve a model": "serving.md",
        "Run and schedule jobs": "jobs.md",
        "Queue work in AWS Batch": "batch.md",
        "Train on several hosts": "training.md",
        "Buy and reserve GPUs": "capacity.md",
        "Share a GPU": "sharing.md",
        "Say where tasks go": "placement.md",
        "Watch GPUs": "monitoring.md",
        "Pay less": "planning.md",
        "Understand a waiting task": "waiting.md",
        "Change a running app": "updates.md",
        "Come from plain CDK": "from-plain-cdk.md",
        "Adopt a cluster": "existing-clusters.md",
        "Pass an audit": "security.md",
    },
    "Check": {
        "Check files": "checking.md",
        "Check in CI": "ci.md",
        "Check plans of Terraform": "terraform.md",
        "Bring old files up to date": "doctor.md",
    },
    "Rules": {"All rules": "rules/index.md"},
    "Reference": {"All names": "reference/index.md"},
    "Project": {
        "Changelog": "changelog.md",
        "Contributing": "contributing.md",
        "Reporting a vulnerability": "reporting.md",
        "Decisions": "decisions/index.md",
    },
}
"""Where a page is found."""

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_CODE_OR_LINK = re.compile(r"(```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|^#.*$)", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"\bGPU\d{3}\b")
_SVG = re.compile(r"!\[[^\]]*\]\(([^)\s:]+)\)")


def pages() -> dict[str, str]:
    """The text of each page by its path, with the links of the site."""
    written = {each.relative_to(_DOCS).as_posix(): each for each in sorted(_DOCS.rglob("*.md"))}
    written |= {name: _ROOT / file for name, file in _BESIDE.items()}
    found = {name: file.read_text(encoding="utf-8") for name, file in written.items()}
    decisions = "\n".join(f"- [{title}]({name})" for title, name in _decisions())
    found["decisions/index.md"] = f"# Decisions\n\nWhy the code is as it is.\n\n{decisions}\n"
    made = {f"rules/{name}": text for name, text in rule_pages().items()}
    made |= {f"reference/{name}": text for name, text in reference_pages().items()}
    made |= {f"gallery/{name}": text for name, text in story_pages().items()}
    return {name: _linked(name, text, found.keys() | made.keys()) for name, text in found.items()} | made


def build(folder: Path, *, coloured: bool = True) -> None:
    """Builds the site in ``folder/html``; what is wrong with a page stops it.

    Args:
        folder: Is emptied first.
        coloured: Whether code has colours, a quarter of the time of a build.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages().items():
        file = folder / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for picture in _DOCS.glob("*.svg"):
        shutil.copy(picture, folder / "pages")
    settings = (_DOCS / "site.toml").read_text(encoding="utf-8")
    navigation = f"nav = {_toml(list(_navigation()))}\n"
    settings = settings.replace("[project]\n", f"[project]\n{navigation}", 1)
    if not coloured:
        settings = settings.replace("pymdownx.highlight = {}", "pymdownx.highlight.use_pygments = false")
    (folder / "zensical.toml").write_text(settings, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=folder,
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    _without_other_hosts(folder / "html")


def _without_other_hosts(html: Path) -> None:
    """Takes the one script that the search needs without a server from our own packages."""
    shutil.copy(_ROOT / "node_modules" / "iframe-worker" / "shim" / "index.js", html / "assets" / "shim.js")
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        own = posixpath.relpath("assets/shim.js", posixpath.dirname(page.relative_to(html).as_posix()) or ".")
        page.write_text(text.replace("https://unpkg.com/iframe-worker/shim", own), encoding="utf-8")


def _linked(page: str, text: str, known: frozenset[str] | set[str]) -> str:
    """Links between files of the repository as links between pages; others become paths."""
    folder = posixpath.dirname(_BESIDE.get(page, f"docs/{page}"))
    beside = {file: name for name, file in _BESIDE.items()}
    beside |= {f"gpu_stories/apps/{each.replace('-', '_')}.py": f"gallery/{each}.md" for each in stories()}

    def linked(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        name = beside.get(path, path.removeprefix("docs/"))
        there = [each for each in (name, f"{name}/index.md") if each in known]
        if not there:
            return words if words.startswith("`") else f"{words} (`{path}`)"
        return f"[{words}]({posixpath.relpath(there[0], posixpath.dirname(page) or '.')}{anchor})"

    def ruled(found: re.Match[str]) -> str:
        name = f"rules/{found[0]}.md"
        return f"[{found[0]}]({posixpath.relpath(name, posixpath.dirname(page) or '.')})" if name in known else found[0]

    def picture(found: re.Match[str]) -> str:
        place = posixpath.relpath(posixpath.basename(found[1]), posixpath.dirname(page) or ".")
        return found[0].replace(f"({found[1]})", f"({place})")

    parts = _CODE_OR_LINK.split(_SVG.sub(picture, _LINK.sub(linked, text)))
    # What stands between two of these is prose.
    return "".join(_RULE.sub(ruled, each) if place % 2 == 0 else each for place, each in enumerate(parts))


def _decisions() -> Iterator[tuple[str, str]]:
    for each in sorted((_DOCS / "decisions").glob("*.md")):
        yield each.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "), each.name


def _navigation() -> Iterator[dict[str, Any]]:
    below: dict[str, list[Any]] = {
        "Start": [{"The gallery": [{each: f"gallery/{each}.md"} for each in stories()]}],
        "Rules": [{subject: [{each: f"rules/{each}.md"} for each in ids]} for subject, ids in subjects()],
        "Reference": [{title: [_with_calls(each.name) for each in of]} for title, _, of in sections()],
        "Project": [f"decisions/{name}" for _, name in _decisions()],
    }
    for tab, entries in NAVIGATION.items():
        yield {tab: [*({title: name} for title, name in entries.items()), *below.get(tab, [])]}


def _with_calls(product: str) -> dict[str, Any]:
    """A name of the reference in the navigation: its page, or that with those of its calls."""
    own = f"reference/{product}.md"
    calls = [each.name for each in parts() if each.name.startswith(f"{product}.")]
    pages = [{each.partition(".")[2]: f"reference/{each}.md"} for each in calls]
    return {product: [{product: own}, *pages] if calls else own}


def _toml(value: Any) -> str:  # noqa: ANN401 - lists, objects and texts, as TOML writes them
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


if __name__ == "__main__":
    build(_ROOT / ".site")

"""``gpu-constructs new``: an app of one's own, from a story that runs."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, cast

from gpu_constructs.check.report import now
from gpu_constructs.cli.output import Line, pieces, show, table, width_of
from gpu_constructs.errors import GpuConstructsError, UnknownNameError, __version__, shown

EXAMPLES = """\
examples:
  gpu-constructs new                      the stories, each with what its hosts cost an hour at most
  gpu-constructs new chat                 writes an app into the folder chat
  gpu-constructs new scale-to-zero .      into the working directory, which is empty but for .git

exit codes:
  0 written or listed, 2 there is no such story, the folder is not empty, or it cannot be written
"""

_BESIDE: Mapping[str, str] = {
    "cdk.json": "beside/cdk.json",
    "requirements.txt": "beside/requirements.txt",
    "README.md": "beside/README.md",
    ".gitignore": "beside/gitignore",
    ".github/workflows/gpu.yml": "beside/gpu.yml",
    "tests/conftest.py": "tests/conftest.py",
}
"""What every app gets: a file of it, and the one of `gpu_stories` that it is made of."""

_FIRST = re.compile("^([A-Z_]+(?:, [A-Z_]+)*) = .*  # (.+)$", re.MULTILINE)
_ENDS, _DAYS = "2027-06-28", 14
"""When a Capacity Block ends in a story; in an app it is so many days from now, so that it is not over."""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("story", nargs="?", metavar="STORY", help="without it, the stories are listed")
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="default: the name of the story")


def run(arguments: argparse.Namespace) -> int:
    if arguments.story is None:
        show(_listed(width_of(sys.stdout)), sys.stdout)
        return 0
    folder = Path(arguments.story if arguments.folder is None else arguments.folder)
    files = files_of(arguments.story)
    try:
        _write(folder, files)
    except OSError as error:
        raise GpuConstructsError(f"cannot write {error.filename or folder}: {error.strerror}") from None
    show(_written(folder, files, width_of(sys.stdout)), sys.stdout)
    return 0


def stories() -> dict[str, str]:
    """What each story is about, by its name."""
    return {name: _text(_app(name)).partition('"""')[2].partition('."""')[0] for name in _prices()["an_hour"]}


def files_of(story: str) -> dict[str, str]:
    """The text of each file of an app, by its path.

    Raises:
        UnknownNameError: There is no such story.
    """
    told = stories()
    if story not in told:
        nearest = tuple(get_close_matches(story.lower(), told, n=3, cutoff=0.5))
        listed = "gpu-constructs new lists the stories"
        raise UnknownNameError(f"no story is called {shown(story)}", nearest=nearest, otherwise=listed)
    ends = (now() + dt.timedelta(days=_DAYS)).date().isoformat()
    module, app = story.replace("-", "_"), _text(_app(story))
    first = "".join(f"- `{name}`: {says}\n" for name, says in _FIRST.findall(app))
    top = f"What you change first is at the top of `app.py`:\n\n{first}\n" if first else ""
    said = {"{story}": story, "{says}": told[story], "{version}": __version__, "{first}": top}
    files = {
        "app.py": app.replace(_ENDS, ends),
        "tests/__init__.py": "",
        "tests/test_app.py": _text(f"tests/test_{module}.py").replace(f"gpu_stories.apps.{module}", "app"),
    }
    for name, source in _BESIDE.items():
        text = _text(source)
        for placeholder, value in said.items():
            text = text.replace(placeholder, value)
        files[name] = text
    return files


def _app(story: str) -> str:
    return f"apps/{story.replace('-', '_')}.py"


def _text(name: str) -> str:
    return resources.files("gpu_stories").joinpath(name).read_text(encoding="utf-8")


def _prices() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads(_text("prices.json")))


def _listed(width: int) -> Iterator[Line]:
    told, prices = stories(), _prices()
    rows = [[name, price, told[name]] for name, price in prices["an_hour"].items()]
    yield from table(["story", "an hour at most", "what it is"], rows, width=width, right=["an hour at most"])
    yield []
    costs = f"an hour at most: all hosts at their limits, {prices['of']}; the network, disks and balancers come on top"
    yield from pieces("", costs, width, style="aside")
    yield from pieces("", "gpu-constructs new STORY [FOLDER] writes one as an app of your own", width)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes an app into a folder that is not there, or has nothing but a repository in it."""
    if folder.is_dir() and any(each.name != ".git" for each in folder.iterdir()):
        raise GpuConstructsError(f"{shown(str(folder))} is not empty", fix="name a folder that is not there")
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)


def _written(folder: Path, files: Mapping[str, str], width: int) -> Iterator[Line]:
    yield from pieces("", f"{folder} has {', '.join(sorted(files))}", width)
    yield [("next:", "title")]
    commands = [line.partition("  ")[0] for line in files["README.md"].partition("```sh\n")[2].splitlines()[:3]]
    named = f"./{folder}" if str(folder).startswith("-") else str(folder)  # no option
    for command in ([] if folder == Path() else [f"cd {shlex.quote(named)}"]) + commands:
        yield [(f"  {command}", "")]

"""The stories that ``gpu-constructs new`` writes: their prices, and their pages on the site.

``python -m tools.stories`` writes ``gpu_stories/prices.json`` anew, whose names are the order of the stories.
"""

from __future__ import annotations

import atexit
import json
import runpy
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import aws_cdk as cdk

from gpu_constructs.check.planning.fleet_plan import FleetPlan, plan
from gpu_constructs.check.planning.in_words import rows_of_level
from gpu_constructs.check.report import check_files
from gpu_constructs.cli.new import files_of, stories
from gpu_constructs.cli.output import unstyled
from gpu_constructs.cli.plan import lines
from tests.synthesis import WITHOUT

__all__ = ["PRICES", "SETTINGS", "made", "prices", "story_pages"]

PRICES = Path(__file__).parents[1] / "gpu_stories" / "prices.json"
SETTINGS = {"@aws-cdk/aws-ec2:restrictDefaultSecurityGroup": False}
"""What is left out of each synth here: a Lambda function for each VPC, whose code is a file of its own."""

_WIDTH = 90
_PAGE = """\
# {story}

{says}. An hour at most: **{price}** (all hosts at their limits, {of}).

```sh
gpu-constructs new {story}
```

## The app

```python
{app}```

## Its tests

```python
{tests}```

## What it costs

```console
$ gpu-constructs plan cdk.out
{plan}```
"""


@cache
def made() -> Mapping[str, Path]:
    """The folder of each story, written as ``new`` does, with its assembly in ``cdk.out``."""
    top = Path(tempfile.mkdtemp(prefix="gpu-stories-"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    return {story: _synthesized(story, top / story) for story in stories()}


def prices() -> dict[str, Any]:
    """What the hosts of each story cost an hour at most, in the words of ``plan``."""
    plans = {story: _plan(folder) for story, folder in made().items()}
    known = [each for of in plans.values() for pool in of.pools for each in pool.price.prices]
    regions, days = ({getattr(each, name) for each in known} for name in ("region", "day"))
    hour = {story: rows_of_level(of, "maximum")["an hour"] for story, of in plans.items()}
    most = {story: text.removeprefix("at most ").rpartition(" to ")[2] for story, text in hour.items()}
    return {
        "of": f"on demand in {' and '.join(sorted(regions))}, {' to '.join(sorted({min(days), max(days)}))}",
        "an_hour": most,
    }


def story_pages() -> dict[str, str]:
    """The page of each story by its name below ``gallery/``."""
    told, cost = stories(), prices()
    return {
        f"{story}.md": _PAGE.format(
            story=story,
            says=told[story],
            price=cost["an_hour"][story],
            of=cost["of"],
            app=(folder / "app.py").read_text(encoding="utf-8"),
            tests=(folder / "tests" / "test_app.py").read_text(encoding="utf-8"),
            plan="".join(_plan_text(folder)),
        )
        for story, folder in made().items()
    }


def _synthesized(story: str, folder: Path) -> Path:
    files = files_of(story)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    context = {**json.loads(files["cdk.json"])["context"], **SETTINGS}

    class Given(cdk.App):
        def __init__(self) -> None:
            super().__init__(outdir=str(folder / "cdk.out"), context=context, **WITHOUT)

    with patch.object(cdk, "App", Given):
        runpy.run_path(str(folder / "app.py"), run_name="__main__")
    return folder


@cache
def _plan(folder: Path) -> FleetPlan:
    return plan(check_files([folder / "cdk.out"], rules=()).fleet)


def _plan_text(folder: Path) -> Iterator[str]:
    yield from (f"{unstyled(each)}\n" for each in lines(_plan(folder), width=_WIDTH))


if __name__ == "__main__":
    PRICES.write_text(f"{json.dumps(prices(), indent=2)}\n", encoding="utf-8")

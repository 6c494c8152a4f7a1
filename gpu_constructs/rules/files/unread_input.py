"""Parts of files that were not read."""

from __future__ import annotations

from gpu_constructs.placement.reach import unjudged
from gpu_constructs.rules.rule import Context, Problem, Problems, info


@info(
    "GPU116",
    question="was every part of the file understood?",
    because="parts that were not understood were not checked",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html",
)
def understood(context: Context) -> Problems:
    for each in (one for one in context.fleet.remarks if not one.hides_work):
        where = each.origin.resource or each.origin.file or "file"
        yield Problem(about=where, message=each.text, fix=each.fix, origin=each.origin)
    beyond = tuple(unjudged(context.fleet).values())
    if beyond:
        others = f" and {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
        yield Problem(
            about=beyond[0],
            message=f"whether {beyond[0].name}{others} fit their hosts was not checked: with the pools of their "
            "clusters they make more pairs than are compared",
            fix="check fewer files at once, or name a capacity provider for each service",
        )

"""Parts of files that were not read."""

from __future__ import annotations

from gpu_constructs.fleet import RemarkKind
from gpu_constructs.placement.reach import unjudged
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, info, warning


@warning(
    "GPU115",
    question="is each key written once?",
    because="of a key that is written twice only the last value counts, and the first is dropped without a message",
    source="https://github.com/aws-cloudformation/cfn-lint/blob/main/docs/rules.md (E0000 refuses duplicate keys)",
)
def keys_written_once(context: Context) -> Problems:
    return _remarks(context, RemarkKind.DUPLICATE_KEY)


@info(
    "GPU116",
    question="was every part of the file understood?",
    because="parts that were not understood were not checked",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html",
)
def understood(context: Context) -> Problems:
    yield from _remarks(context, RemarkKind.NOT_READ)
    beyond = tuple(unjudged(context.fleet).values())
    if beyond:
        others = f" and {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
        yield Problem(
            about=beyond[0],
            message=f"whether {beyond[0].name}{others} fit their hosts was not checked: with the pools of their "
            "clusters they make more pairs than are compared",
            fix="check fewer files at once, or name a capacity provider for each service",
        )


def _remarks(context: Context, kind: RemarkKind) -> Problems:
    for each in context.fleet.remarks:
        if each.kind is kind:
            yield Problem(
                about=each.origin.resource or each.origin.file or "file", message=each.text, origin=each.origin
            )

"""Stacks that are in the old files alone: no deploy of the new ones changes or deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.check.planning.update_table import EXPORTED, Refusal
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import NAME
from gpu_constructs.template.evaluation import Stacks
from gpu_constructs.template.evaluation.evaluator import Evaluator


class LeftStack(NamedTuple):
    """A stack that a deploy leaves as it is, with what becomes of it, and the exports that it imports and that go."""

    name: str
    said: str
    refused: tuple[Refusal, ...]


def left_stacks(old: Stacks, new: Stacks, name_of: Callable[[str], str]) -> Iterator[LeftStack]:
    """The stacks that only the old files have, without nested ones; `name_of` says what the new files call one."""
    names = {each.name for each in new.stacks}
    for each in old.evaluators:
        if each.file == each.source.document.file and name_of(each.name) not in names:
            name = brief(each.name, NAME)
            stack = brief(each.stack_name or each.name, NAME)
            delete = f"aws cloudformation delete-stack --stack-name {stack}"
            said = (
                f"{name} is in the old files alone, and no deploy deletes it: what it runs and costs goes on, and what "
                f"it imports is held, until you delete it: {delete}"
            )
            refused = tuple(
                replace(
                    EXPORTED,
                    change=f"{by} drops exports that {name} imports, and no deploy changes or deletes {name}",
                    answer=EXPORTED.answer.format("deleted", name),
                    steps=(delete, f"deploy {by}"),
                )
                for by in _drop_exports(each, old, new, name_of)
            )
            yield LeftStack(each.name, said, refused)


def _drop_exports(left: Evaluator, old: Stacks, new: Stacks, name_of: Callable[[str], str]) -> Iterator[str]:
    """The stacks that drop exports which one imports."""
    imported = {*left.imports(certain=True)}
    now = {each.name: each for each in new.evaluators}
    for was in old.evaluators:
        if (after := now.get(name_of(was.name))) and was.place.may_be(left.place):
            kept = [name for name, _ in after.exports()]
            gone = [name for name, _ in was.exports() if name in imported and name not in kept]
            if gone and all(isinstance(each, str) for each in kept):
                yield brief(after.name, NAME)

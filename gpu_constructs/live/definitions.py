"""What a task definition asks for, as ``describe-task-definition`` answers it; what cannot be read is never nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.live.described import ANSWERS, Thing, listed, short_name, text

_MPS = "nvidiaMps"
_AMOUNT = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?|\.[0-9]{1,4}|all", re.IGNORECASE)
_WHOLE = re.compile("[0-9]{1,4}")


def require_readable(definition: Thing) -> None:
    """Refuses a task definition of which it cannot be said what it asks for.

    Raises:
        InvalidValueError: Its containers, or what they ask for, have another form than the API documents.
    """
    odd = next(_odd(definition), None)
    if odd is not None:
        called = shown(short_name(text(definition, "taskDefinitionArn")))
        raise InvalidValueError(
            f"the task definition {called} cannot be read: {odd}",
            fix=f"give what aws {ANSWERS['taskDefinition']} prints",
        )


def whole_gpus(definition: Thing) -> int | None:
    """GPUs that its tasks hold; None where that is not known, or the host decides it."""
    if next(_odd(definition), None) is not None:
        return None
    values = [text(each, "value") for each in _gpus(definition)]
    return sum(map(int, values)) if all(map(_WHOLE.fullmatch, values)) else None


def shares_gpus(definition: Thing) -> bool:
    """Whether its containers share a GPU, so that several tasks hold it."""
    return any(_MPS in each for each in _gpus(definition))


def _gpus(definition: Thing) -> Iterator[Thing]:
    for container in listed(definition, "containerDefinitions"):
        yield from (each for each in listed(container, "resourceRequirements") if text(each, "type") == "GPU")


def _odd(definition: Thing) -> Iterator[str]:
    if not _is_list_of_things(definition.get("containerDefinitions")) or not definition["containerDefinitions"]:
        yield "it has no list of containers"
    for container in listed(definition, "containerDefinitions"):
        asked = container.get("resourceRequirements")
        if asked is not None and not (_is_list_of_things(asked) and all(text(each, "type") for each in asked)):
            yield "what a container asks for is not a list of types and values"
    for each in _gpus(definition):
        if _MPS not in each and not _AMOUNT.fullmatch(text(each, "value")):
            yield f"{shown(each.get('value'))} is not a number of GPUs"


def _is_list_of_things(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)

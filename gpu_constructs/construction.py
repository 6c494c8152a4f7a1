"""A construct is made whole or not at all.

Every constructor here checks what it can before it makes anything. What only CDK notices later, such as an argument of
the wrong type, is undone, so that an app that catches the error goes on with a clean tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from constructs import IConstruct

from gpu_constructs.errors import InvalidValueError

__all__ = ["require_free_ids", "whole_or_nothing"]

# The text of constructs/lib/construct.ts for a second child of one name; jsii passes on no error code for it.
_DUPLICATE = "There is already a Construct with name"


@contextmanager
def whole_or_nothing(scope: IConstruct, construct_id: str, *more_ids: str) -> Iterator[None]:
    """Removes the children that the block began to make if it fails.

    Args:
        scope: Where the children are made.
        construct_id: The id that the user chose.
        more_ids: Ids that were derived from it.

    Raises:
        InvalidValueError: The id is taken or is not text.
    """
    if not isinstance(construct_id, str) or not construct_id.strip():
        raise InvalidValueError(
            f"a construct id is text that is not empty, got {construct_id!r}",
            argument="construct_id",
            value=construct_id,
            fix="a short name in PascalCase, such as 'Training'",
        )
    try:
        yield
    except RuntimeError as error:
        if _DUPLICATE in str(error):
            raise _taken(scope, construct_id) from None
        _remove(scope, construct_id, *more_ids)
        raise
    except BaseException:
        _remove(scope, construct_id, *more_ids)
        raise


def require_free_ids(scope: IConstruct, *construct_ids: str) -> None:
    """Refuses to begin where one of several children could not be made.

    Raises:
        InvalidValueError: An id is taken.
    """
    for construct_id in construct_ids:
        if scope.node.try_find_child(construct_id) is not None:
            raise _taken(scope, construct_id)


def _taken(scope: IConstruct, construct_id: str) -> InvalidValueError:
    return InvalidValueError(
        f"{construct_id!r} is already used in {scope.node.path or 'the app'}",
        argument="construct_id",
        value=construct_id,
        fix="another id: ids are unique in their scope",
    )


def _remove(scope: IConstruct, *construct_ids: str) -> None:
    for construct_id in construct_ids:
        scope.node.try_remove_child(construct_id)

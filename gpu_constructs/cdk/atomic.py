"""A construct is made whole or not at all, and what CDK refuses is said in this library's words.

Every constructor here checks what it can before it makes anything. What only CDK notices is undone, so that an app that
catches the error goes on with a clean tree, and is raised as one of our errors, without a trace from Node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import aws_cdk as cdk
from constructs import IConstruct

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, RefusedByCdkError, shown

# The text of constructs/lib/construct.ts for a second child of one name; jsii passes on no error code for it.
_DUPLICATE = "There is already a Construct with name"
# The text of Stack.of in aws-cdk-lib/core/lib/stack.js.
_OUTSIDE = "should be created in the scope of a Stack"
_SCOPE = "scope"
_IN_A_STACK = "self, where a Stack defines it"

# What typeguard says of an argument before anything is sent to Node.
_WRONG_TYPE = re.compile(
    r"type of argument (?P<argument>\w+) must be (?P<expected>.*); got (?P<got>.*) instead", re.DOTALL
)
# What jsii says of a value inside an argument before anything is made of it.
_NOT_SENT = "SerializationError"
_NOT_OF_JSII = "__jsii_type__"
_KEY = re.compile(r"Key '(?P<key>[^']+)'")
_MODULE = re.compile(r"\b(?:[a-z_0-9]+\.)+(?=[A-Z])")
_NOT_FOR_USERS = frozenset({"NoneType", "Dict[str", "Any]", "typing.Dict[str", "typing.Any]"})


@contextmanager
def creating(scope: IConstruct, construct_id: str, *, called: str | None = None) -> Iterator[None]:
    """Around the one CDK call that makes a child: it is there afterwards, or nothing is.

    A child of that name that was there before stays as it is.

    Args:
        scope: Where the child is made.
        construct_id: Its id.
        called: The id that the user chose, where this one was derived from it.

    Raises:
        InvalidValueError: The id is taken or cannot be one, the scope is outside of a stack, or an argument has the
            wrong type.
        RefusedByCdkError: CDK refuses it for another reason.
    """
    require_construct_id(construct_id)
    try:
        with translated():
            yield
    except GpuConstructsError as error:
        if _DUPLICATE in error.problem:
            raise taken(scope, called or construct_id) from None
        if isinstance(error, RefusedByCdkError) or error.argument == _SCOPE:
            # CDK had begun: a taken id is the first thing it looks at, so the child of that name is this one.
            scope.node.try_remove_child(construct_id)
        raise


@contextmanager
def rolled_back_on_error(scope: IConstruct, *construct_ids: str) -> Iterator[None]:
    """Around what is done to children that were just made: they go again if it fails.

    Raises:
        InvalidValueError: An argument has the wrong type.
        RefusedByCdkError: CDK refuses something for another reason.
    """
    try:
        with translated():
            yield
    except BaseException:
        for construct_id in construct_ids:
            scope.node.try_remove_child(construct_id)
        raise


@contextmanager
def translated() -> Iterator[None]:
    """Turns what CDK raises into errors of this library."""
    try:
        yield
    except TypeError as error:
        wrong = _WRONG_TYPE.search(str(error))
        if wrong is None:
            raise
        expected = wrong["expected"].removeprefix("one of (").rstrip(")")
        kinds = [_MODULE.sub("", each) for each in expected.split(", ") if each not in _NOT_FOR_USERS]
        raise InvalidValueError(
            f"expects {' or '.join(kinds)}, got {_MODULE.sub('', wrong['got'])}",
            argument=wrong["argument"],
            fix=_IN_A_STACK if wrong["argument"] == _SCOPE else None,
        ) from None
    except AttributeError as error:
        if _NOT_OF_JSII not in str(error):
            raise
        raise InvalidValueError("a value has a type that CDK cannot take") from None
    except RuntimeError as error:
        if _NOT_SENT in f"{error}{error.__cause__}":
            wrong = _KEY.search(str(error))
            where = f"{wrong['key']}: " if wrong else ""
            raise InvalidValueError(f"{where}a value has a type that CDK cannot take") from None
        if _OUTSIDE in str(error):
            raise InvalidValueError(
                "it is outside of every stack, and only a stack is deployed",
                argument=_SCOPE,
                fix=_IN_A_STACK,
            ) from None
        raise RefusedByCdkError(f"CDK refuses it: {str(error).strip().rstrip('.')}") from None


def stack_of(scope: IConstruct) -> cdk.Stack:
    """The stack that a construct is in.

    Raises:
        InvalidValueError: It is in none.
    """
    with translated():
        return cdk.Stack.of(scope)


def require_construct_id(construct_id: str) -> None:
    """Refuses what no construct id can be, or begin or end with.

    Raises:
        InvalidValueError: It is not text, empty, or only known at deploy time.
    """
    if not isinstance(construct_id, str) or not construct_id.strip() or is_token(construct_id):
        raise InvalidValueError(
            f"a construct id is text that is known at synth and not empty, got {shown(construct_id)}",
            argument="construct_id",
            value=construct_id,
            fix="a short name in PascalCase, such as 'Training'",
        )


def require_free_ids(scope: IConstruct, *construct_ids: str) -> None:
    """Refuses to begin where one of several children could not be made.

    Raises:
        InvalidValueError: An id is taken.
    """
    for construct_id in construct_ids:
        if scope.node.try_find_child(construct_id) is not None:
            raise taken(scope, construct_id)


def taken(scope: IConstruct, construct_id: str) -> InvalidValueError:
    """The error for an id that another child of a scope has."""
    return InvalidValueError(
        f"{construct_id!r} is already used in {scope.node.path or 'the app'}",
        argument="construct_id",
        value=construct_id,
        fix="another id: ids are unique in their scope",
    )

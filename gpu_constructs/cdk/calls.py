"""A call that a user makes: what CDK refuses is said in this library's words, and no refusal is swallowed.

Every constructor here checks what it can before it makes anything. What only CDK notices is raised as one of our
errors, without a trace from Node. Nothing is taken back: a refusal that leaves the call is written on the nearest
construct that exists, so that an app that catches the error and goes on does not synthesize.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from inspect import unwrap
from typing import Any, ParamSpec, TypeVar, cast

import aws_cdk as cdk
import jsii
from constructs import IConstruct, IValidation, Node

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, RefusedByCdkError, UnknownNameError, shown

_Arguments = ParamSpec("_Arguments")
_Made = TypeVar("_Made")

# The text of constructs/lib/construct.ts for a second child of one name; jsii passes on no error code for it.
_DUPLICATE = r"There is already a Construct with name '(?P<id>.*)' in [^\s\[]+(?: \[(?P<scope>.*)\])?"
# The text of aws-cdk-lib/aws-ec2/lib/vpc.js.
_NO_GROUP = r"no subnet groups with name '(?P<name>.*)' in this VPC\. Available names: (?P<names>[^\n]*)"
# The text of Stack.of in aws-cdk-lib/core/lib/stack.js.
_OUTSIDE = "should be created in the scope of a Stack"
_SCOPE = "scope"
_IN_A_STACK = "self, where a Stack defines it"

# What typeguard says of an argument before anything is sent to Node.
_WRONG_TYPE = r"(?s)type of argument (?P<argument>\w+) must be (?P<expected>.*); got (?P<got>.*) instead"
# What jsii says of a value inside an argument before anything is made of it.
_NOT_SENT = "SerializationError"
_MODULE = r"\b(?:[a-z_0-9]+\.)+(?=[A-Z])"
_NOT_FOR_USERS = frozenset({"NoneType", "Dict[str", "Any]", "typing.Dict[str", "typing.Any]"})

_PACKAGE = __name__.partition(".")[0]
# Classes of which users know the subclasses alone.
_KNOWN_AS = {"BatchWork": "GpuBatchJob", "ProviderCapacity": "GpuCapacity"}

_IS_OUTERMOST: ContextVar[bool] = ContextVar("_IS_OUTERMOST", default=True)
"""Whether the next call comes from the user, and not from another call of this library."""


def written_if_refused(function: Callable[_Arguments, _Made]) -> Callable[_Arguments, _Made]:
    """Has the refusals of a public function written on the tree: on its ``self`` if that is a construct, else `scope`.

    A call within another one writes nothing: its caller may have another way.
    """
    names = unwrap(function).__code__.co_varnames

    @wraps(function)
    def call(*given: _Arguments.args, **named: _Arguments.kwargs) -> _Made:
        def near() -> list[IConstruct]:
            arguments = {**dict(zip(names, given, strict=False)), **named}
            found = [arguments.get(name) for name in ("self", _SCOPE)]
            return [cast("IConstruct", each) for each in found if isinstance(getattr(each, "node", None), Node)]

        is_outermost = _IS_OUTERMOST.get()
        before = _IS_OUTERMOST.set(False)
        try:
            with translated(near):
                return function(*given, **named)
        except (GpuConstructsError, TypeError) as error:  # the second as Python says that an argument is missing
            if is_outermost:
                write_on(near(), f"{called(function, *given[:1])} was refused: {error}")
            raise
        finally:
            _IS_OUTERMOST.reset(before)

    return call


def called(function: Callable[..., object], of: object = None) -> str:
    """A method as users know it: ``GpuCluster.add_capacity``, and a class by its own name."""
    owner, _, name = function.__qualname__.removesuffix(".__init__").rpartition(".")
    if owner in _KNOWN_AS:
        ours = (each.__name__ for each in type(of).__mro__ if each.__module__.startswith(f"{_PACKAGE}."))
        owner = next(ours, _KNOWN_AS[owner])
    return f"{owner}.{name}".removeprefix(".")


def write_on(near: Sequence[IConstruct], refusal: str) -> None:
    """Keeps an app from being synthesized, by a line at the nearest of some constructs, which is the first."""
    for each in near[:1]:
        each.node.add_validation(_Refused(refusal))


@jsii.implements(IValidation)
class _Refused:
    def __init__(self, refusal: str) -> None:
        self._refusal = refusal

    def validate(self) -> list[str]:
        return [self._refusal]


@contextmanager
def translated(near: Callable[[], Sequence[IConstruct]] = tuple) -> Iterator[None]:
    """Turns what CDK raises into errors of this library; that of an id that is taken has the path of what is `near`."""
    try:
        yield
    except TypeError as error:
        wrong = re.search(_WRONG_TYPE, str(error))
        if wrong is None:
            raise
        expected = wrong["expected"].removeprefix("one of (").rstrip(")")
        kinds = [re.sub(_MODULE, "", each) for each in expected.split(", ") if each not in _NOT_FOR_USERS]
        raise InvalidValueError(
            f"expects {' or '.join(kinds)}, got {re.sub(_MODULE, '', wrong['got'])}",
            argument=wrong["argument"],
            fix=_IN_A_STACK if wrong["argument"] == _SCOPE else None,
        ) from None
    except AttributeError as error:
        if "__jsii_type__" not in str(error):
            raise
        raise InvalidValueError("a value has a type that CDK cannot take") from None
    except RuntimeError as error:
        if _NOT_SENT in f"{error}{error.__cause__}":
            wrong = re.search(r"Key '(?P<key>[^']+)'", str(error))
            where = f"{wrong['key']}: " if wrong else ""
            raise InvalidValueError(f"{where}a value has a type that CDK cannot take") from None
        if _OUTSIDE in str(error):
            raise InvalidValueError(
                "it is outside of every stack, and only a stack is deployed",
                argument=_SCOPE,
                fix=_IN_A_STACK,
            ) from None
        if duplicate := re.search(_DUPLICATE, str(error)):
            within = duplicate["scope"] or ""
            path = next((each.node.path for each in near() if each.node.id == within), within)
            raise taken(duplicate["id"], path or "the app") from None
        if no_group := re.search(_NO_GROUP, str(error)):
            names = no_group["names"].split(",")
            raise UnknownNameError(
                f"the VPC has no subnet group {shown(no_group['name'])}; it has {', '.join(names)}",
                value=no_group["name"],
                nearest=tuple(get_close_matches(no_group["name"], names, n=2)),
            ) from None
        raise RefusedByCdkError(f"CDK refuses it: {str(error).strip().rstrip('.')}") from None


def stack_of(scope: IConstruct) -> cdk.Stack:
    """The stack that a construct is in."""
    with translated():
        return cdk.Stack.of(scope)


def require_construct_id(construct_id: object) -> None:
    """Refuses what no construct id can be, or begin or end with."""
    if not isinstance(construct_id, str) or not construct_id.strip() or is_token(construct_id):
        raise InvalidValueError(
            f"a construct id is text that is known at synth and not empty, got {shown(construct_id)}",
            argument="construct_id",
            value=construct_id,
            fix="a short name in PascalCase, such as 'Training'",
        )


def taken(construct_id: str, scope: str) -> InvalidValueError:
    """The error for an id that another child of a scope has."""
    return InvalidValueError(
        f"{construct_id!r} is already used in {scope}",
        argument="construct_id",
        value=construct_id,
        fix="another id: ids are unique in their scope",
    )


_Override = TypeVar("_Override", bound=Callable[..., Any])


def called_like(original: Callable[..., object]) -> Callable[[_Override], _Override]:
    """Makes an override that takes some arguments by name and the rest as ``**options`` callable by CDK.

    A call from CDK brings a struct, of which jsii passes on what the signature of the override names
    (``_handle_callback`` of jsii 1.142); so it shows the signature of the method that it overrides.
    """

    def shown_as_original(override: _Override) -> _Override:
        override.__signature__ = inspect.signature(original)  # type: ignore[attr-defined] # of any callable
        return override

    return shown_as_original


def naming(options: type[Mapping[str, object]], **defaults: object) -> Callable[[_Override], _Override]:
    """Makes ``help`` and editors show each argument of a typed mapping that a method takes as ``**options``.

    Defaults other than None are given by name.
    """
    kind = inspect.Parameter.KEYWORD_ONLY

    def shown_by_name(method: _Override) -> _Override:
        signature = inspect.signature(method)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        # As they are written: to resolve them loads modules of CDK that few apps use.
        hints = {name: getattr(hint, "__forward_arg__", hint) for name, hint in options.__annotations__.items()}
        named = [
            inspect.Parameter(name, kind, default=defaults.get(name), annotation=hint) for name, hint in hints.items()
        ]
        method.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined] # of any callable
        return method

    return shown_by_name

"""Is this value only known at deploy time? Asked of every argument before anything is compared with it.

An unresolved number is a huge negative float and an unresolved string is text with a marker in it, so comparing them
gives answers that mean nothing.

Late values are made here too: they know whatever was defined until the template is written. They are asked for each
time, not once, because CDK resolves them before the last construct may be there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import aws_cdk as cdk
import jsii

from gpu_constructs.fleet import UNKNOWN, Unknown, is_resolved_later

# How aws-cdk-lib encodes tokens (core/lib/private/encoding.ts): text holds "${Token[...]}", an element of a list
# "#{Token[...]}", and numbers lie far below any that a user writes. Looking here spares a call into Node for each
# value; of a number CDK has the last word.
_TOKEN = re.compile(r"[$#]\{Token\[[a-zA-Z0-9:._-]+\]\}")
_OF_LIST = "#{Token["
_LARGEST_NUMBER_TOKEN = -1e288


def is_token(value: object) -> bool:
    """Whether this value is only known at deploy time, be it a token or a dynamic reference that is written out."""
    if isinstance(value, str):
        return ("{Token[" in value and _TOKEN.search(value) is not None) or is_resolved_later(value)
    # Infinity would break the connection to Node: JSON has no word for it.
    if not isinstance(value, float) or not math.isfinite(value):
        return False
    return value < _LARGEST_NUMBER_TOKEN and cdk.Token.is_unresolved(value)


def is_list_token(element: object) -> bool:
    """Whether this text stands for a whole list that CDK only resolves at deploy time."""
    return isinstance(element, str) and element.startswith(_OF_LIST) and is_token(element)


def is_text_token(value: object) -> bool:
    """Whether this text, or a part of it, is only resolved at deploy time, and to text.

    An element that was taken out of a list that is a token stands for the whole list, and CDK writes no text for it.
    """
    return isinstance(value, str) and _OF_LIST not in value and is_token(value)


def known_parts(text: str) -> str:
    """A text without its tokens."""
    return _TOKEN.sub("", text)


def known_text(value: str) -> str | Unknown:
    """A text as a fleet holds it: unknown where a part of it is only resolved at deploy time."""
    return UNKNOWN if is_token(value) else value


def late_text(text: Callable[[], str]) -> str:
    """A token for a text."""
    return cdk.Lazy.uncached_string(_Text(text))


def late_list(texts: Callable[[], list[str]]) -> list[str]:
    """A token for a list of texts."""
    return cdk.Lazy.uncached_list(_Texts(texts))


@jsii.implements(cdk.IStringProducer)
class _Text:
    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def produce(self, context: cdk.IResolveContext) -> str:  # noqa: ARG002 - jsii's
        return self._text()


@jsii.implements(cdk.IListProducer)
class _Texts:
    def __init__(self, texts: Callable[[], list[str]]) -> None:
        self._texts = texts

    def produce(self, context: cdk.IResolveContext) -> list[str]:  # noqa: ARG002 - jsii's
        return self._texts()

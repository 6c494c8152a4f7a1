"""Values that are asked for when the template is written, and that know whatever was defined until then.

They are asked for each time, not once: CDK resolves them before the last construct may be there.
"""

from __future__ import annotations

from collections.abc import Callable

import aws_cdk as cdk
import jsii


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

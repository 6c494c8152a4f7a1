"""CDK's constructs made of the arguments that are given, and of no others.

A class of aws-cdk-lib checks every argument that it could have twice, and sends Node each of them, given or not. For an
Auto Scaling group those are fifty, and in Python they take three times as long as everything else. For every capacity
and task, this library makes the jsii call itself, which is all that those constructors end in. What users give is
checked before, see `gpu_constructs.cdk.kinds`; Node checks the rest.
"""

from __future__ import annotations

from typing import TypeVar

import jsii
from constructs import Construct

_Made = TypeVar("_Made", bound=Construct)


def construct_of(kind: type[_Made], props: type, scope: Construct, construct_id: str, **given: object) -> _Made:
    """A construct of CDK, with those of its arguments that are not None."""
    construct = kind.__new__(kind)
    initialize(construct, props, scope, construct_id, **given)
    return construct


def initialize(construct: Construct, props: type, scope: Construct, construct_id: str, **given: object) -> None:
    """What the constructor of a class of CDK does, for a class of this library that extends it.

    Raises:
        TypeError: The installed aws-cdk-lib does not have an argument.
    """
    names: dict[str, str] = props.__jsii_name_mapping__  # type: ignore[attr-defined]  # set by jsii on every struct
    written = {name: value for name, value in given.items() if value is not None}
    if unknown := sorted(written.keys() - names.keys()):
        raise TypeError(f"{props.__name__} of this version of aws-cdk-lib does not take {', '.join(unknown)}")
    jsii.create(
        type(construct), construct, [scope, construct_id, {names[name]: value for name, value in written.items()}]
    )

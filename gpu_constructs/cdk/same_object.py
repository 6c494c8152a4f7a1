"""The Python object that CDK gives back for a construct.

jsii has no public way to this (jsii 1.142): it gives out an object of a class of its own as a new Python object each
time, and only those of classes that Python code extends as themselves; Node asks such a class about every call instead.
"""

from __future__ import annotations

from constructs import Construct

try:
    from jsii._reference_map import register_reference as _register
except ImportError:  # it is private, so a release of jsii may go without
    _register = None  # type: ignore[assignment]


def stays_itself(construct: Construct) -> bool:
    """Has jsii give out this very object for a construct, as long as something holds it.

    Returns:
        Whether it will.
    """
    if _register is None:
        return False
    _register(construct)
    return True

"""What the arguments of assertions stand for."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Purchase
from gpu_constructs.hardware import family, instance_type
from gpu_constructs.rules import Severity

__all__ = ["listed", "purchase_of", "severity_of", "types_named", "words"]


def types_named(names: str | Iterable[str] | None) -> frozenset[str] | None:
    """Names of all types of some types and families; None for None.

    Args:
        names: Such as ``g6.xlarge`` or ``g6``.

    Raises:
        UnknownNameError: None is called so.
    """
    if names is None:
        return None
    return frozenset(
        each.name for name in listed(names) for each in ((instance_type(name),) if "." in name else family(name))
    )


def purchase_of(value: Purchase | str | None) -> Purchase | None:
    """The way of buying of this name.

    Args:
        value: Such as ``spot``.

    Raises:
        InvalidValueError: It is none.
    """
    try:
        return None if value is None else Purchase(value)
    except ValueError:
        allowed = ", ".join(map(str, Purchase))
        raise InvalidValueError(f"got {shown(value)}", argument="purchase", value=value, allowed=allowed) from None


def severity_of(value: Severity | str) -> Severity:
    """The severity of this name.

    Args:
        value: Such as ``warning``.

    Raises:
        InvalidValueError: It is none.
    """
    try:
        return Severity(value)
    except ValueError:
        allowed = ", ".join(map(str, Severity))
        raise InvalidValueError(f"got {shown(value)}", argument="at_least", value=value, allowed=allowed) from None


def listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several.

    Args:
        names: A text is one name.
    """
    return (names,) if isinstance(names, str) else tuple(names)


def words(names: str | Iterable[str]) -> str:
    """The names as a failure shows them.

    Args:
        names: One or several.
    """
    return ", ".join(listed(names))

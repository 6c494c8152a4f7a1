"""What a rule has to say about one thing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A warning: it may not work, or not as meant. What cannot work is an error, raised where the user wrote it.

    Attributes:
        rule: Stable id, such as ``GPU001``; never given to another rule.
        message: What was asked, what exists, and what to do about it.
    """

    rule: str
    message: str

"""Commands of the AWS command line that mend what was found; each can be pasted into a shell as it is."""

from __future__ import annotations

import shlex


def aws(service: str, command: str, *words: str) -> str:
    """A command, with every word quoted that needs it."""
    return shlex.join(("aws", service, command, *words))


def in_region(fix: str, region: str | None) -> str:
    """A fix with the region in it where it is a command; other words stay as they are.

    Args:
        fix: What to do.
        region: Where it was asked about; None for the region of the profile, which is that of the command as well.
    """
    return f"{fix} --region {shlex.quote(region)}" if region and fix.startswith("aws ") else fix

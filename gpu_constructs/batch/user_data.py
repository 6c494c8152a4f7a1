"""The form of user data that AWS Batch takes.

https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html
"""

from __future__ import annotations

from collections.abc import Iterable

_BOUNDARY = "==GPU=="


def user_data_of(lines: Iterable[str]) -> str:
    """A script as the MIME multi-part archive that AWS Batch merges with its own user data; it takes no other form."""
    head = ("MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', "")
    part = (f"--{_BOUNDARY}", 'Content-Type: text/x-shellscript; charset="us-ascii"', "")
    return "\n".join((*head, *part, *lines, "", f"--{_BOUNDARY}--", ""))

"""CloudTrail, which the CDK command line asks for the events of a deploy. There are none: nothing is recorded here."""

from __future__ import annotations

import json

from moto.cloudtrail.responses import CloudTrailResponse

__all__ = ["install"]


def _lookup_events(_: CloudTrailResponse) -> str:
    return json.dumps({"Events": []})


def install() -> None:
    """Answer LookupEvents, which moto 5.2.5 does not."""
    CloudTrailResponse.lookup_events = _lookup_events  # type: ignore[attr-defined]

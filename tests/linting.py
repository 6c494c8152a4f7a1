"""cfn-lint, whose making takes longer than its work on a template: one for each list of regions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cfnlint.config import ConfigMixIn, ManualArgs
from cfnlint.decode.decode import decode_str
from cfnlint.runner import Runner

__all__ = ["linted", "linter"]


def linted(template: Mapping[str, Any], *regions: str) -> Iterable[Any]:
    """What cfn-lint finds in a template in these regions, as its own matches."""
    decoded, _ = decode_str(json.dumps(template))
    found: Iterable[Any] = linter(regions).validate_template(decoded)
    return found


@cache
def linter(regions: tuple[str, ...], *packs: str) -> Runner:
    """cfn-lint for these regions.

    Args:
        regions: Where templates go.
        packs: Rules besides its own.
    """
    return Runner(ConfigMixIn(**ManualArgs(regions=list(regions), append_rules=list(packs))))

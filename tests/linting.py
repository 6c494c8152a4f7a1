"""cfn-lint, whose rules take longer to load than to find something in a template: they are loaded once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from cfnlint.config import ConfigMixIn, ManualArgs
from cfnlint.context import context
from cfnlint.decode.decode import decode_str
from cfnlint.jsonschema import _filter, validators
from cfnlint.rules import Rules
from cfnlint.runner import Runner, run_template_by_data

__all__ = ["found_by", "linted"]

# It asks for the fields of its three classes whenever it looks at a value: a tenth of its time.
for _each in (context, validators, _filter):
    _each.__dict__["fields"] = cache(fields)


def linted(template: Mapping[str, Any], *regions: str) -> Iterable[Any]:
    """What cfn-lint finds in a template in these regions, as its own matches."""
    return found_by(json.dumps(template), regions=list(regions))


def found_by(template: str, *packs: str, **configuration: Any) -> Iterable[Any]:
    """What cfn-lint finds in the text of a template.

    Args:
        template: The text.
        packs: Rules besides its own.
        **configuration: What its configuration file may say.
    """
    decoded, _ = decode_str(template)
    found: Iterable[Any] = run_template_by_data(decoded, ConfigMixIn(**ManualArgs(**configuration)), _rules(*packs))
    return found


@cache
def _rules(*packs: str) -> Rules:
    if not packs:
        return Runner(ConfigMixIn(**ManualArgs())).rules
    rules = Rules(_rules())
    for each in packs:
        rules.update(Rules.create_from_module(each))
    return rules

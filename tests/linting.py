"""cfn-lint, whose rules take longer to load than to find something in a template: they are loaded once.

It makes an object anew whenever it looks at a value, a class for each use of a schema, and searches the same schemas
again: a third of its time. Here they are copied, made once and searched once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cfnlint.config import ConfigMixIn, ManualArgs
from cfnlint.context.context import Context, Path
from cfnlint.decode.decode import decode_str
from cfnlint.jsonschema import validators
from cfnlint.jsonschema._filter import FunctionFilter
from cfnlint.rules import Rules
from cfnlint.runner import Runner, run_template_by_data
from cfnlint.schema.resolver import _resolver

__all__ = ["found_by", "linted"]


def _evolve(self: Any, **changes: Any) -> Any:
    """A copy with changes."""
    made = object.__new__(type(self))
    made.__dict__.update(self.__dict__ | changes)
    return made


def _evolve_context(self: Any, **changes: Any) -> Any:
    if "ref_values" in changes:
        changes["ref_values"] = self.ref_values | changes["ref_values"]
    made = _evolve(self, **changes)
    made.__dict__.pop("module_names", None)  # which it remembers of its resources
    return made


def _create(**given: Any) -> Any:
    """The class of validators with these functions."""
    function_filter = given["function_filter"]
    takes = function_filter.add_cfn_lint_keyword, function_filter.validate_dynamic_references
    key = (frozenset(given["validators"].items()), frozenset(given["fn_resolvers"].items()), takes)
    if key not in _CLASSES:
        _CLASSES[key] = _created(**given)
        _CLASSES[key].evolve = _evolve
    return _CLASSES[key]


def _search(schema: Any, matcher: Any) -> Any:
    key = id(schema), matcher
    if key not in _FOUND:
        _FOUND[key] = schema, list(_searched(schema, matcher))
    return _FOUND[key][1]


_CLASSES: dict[Any, Any] = {}
_FOUND: dict[Any, tuple[Any, list[Any]]] = {}
_created, validators.create = validators.create, _create
_searched, _resolver._search_schema = _resolver._search_schema, _search
_resolver._match_keyword = cache(_resolver._match_keyword)
Context.evolve = _evolve_context
for _each in (Path, FunctionFilter, validators.CfnTemplateValidator, validators.StandardValidator):
    _each.evolve = _evolve


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
        rules: Rules = Runner(ConfigMixIn(**ManualArgs())).rules
        _ask_who_knows(rules["E1101"])
        return rules
    rules = Rules(_rules())
    for each in packs:
        rules.update(Rules.create_from_module(each))
    return rules


def _ask_who_knows(check: Any) -> None:
    """Of the rules that it asks about each keyword, hardly one has it: a tenth of the time."""
    ask = check.cfnLint
    known = cache(lambda _: {word for each in check.child_rules.values() if each for word in each.keywords})

    def only(validator: Any, keywords: Iterable[str], *rest: Any) -> Any:
        return ask(validator, [each for each in keywords if each in known(len(check.child_rules))], *rest)

    check.cfnLint = only

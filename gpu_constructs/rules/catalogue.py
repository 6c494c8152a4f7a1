"""Every rule by id, and the check that asks all of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from gpu_constructs.errors import UnknownNameError
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import batch, clusters, expressions, files, fit, hosts, purchase, scaling, tasks
from gpu_constructs.rules.finding import Finding
from gpu_constructs.rules.rule import Rule

__all__ = ["ROOMS", "RULES", "check", "find_rule", "rules_of"]

ROOMS = (tasks, fit, expressions, hosts, purchase, scaling, clusters, batch, files)
"""The rooms of rules by subject, in the order of ``docs/rules.md``."""


def rules_of(module: ModuleType) -> tuple[Rule, ...]:
    """The rules that a module or a room defines: whatever `rule` made there is registered.

    Args:
        module: A module of rules, or a room of them.
    """
    if hasattr(module, "__path__"):
        parts = (import_module(f"{module.__name__}.{each.name}") for each in iter_modules(module.__path__))
        return tuple(each for part in parts for each in rules_of(part))
    return tuple(each for each in vars(module).values() if isinstance(each, Rule))


RULES: tuple[Rule, ...] = tuple(sorted((each for room in ROOMS for each in rules_of(room)), key=lambda each: each.id))
"""Every rule, in the order of the ids."""


def check(fleet: Fleet, *, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Everything that the rules have to say about a fleet: errors first, then by rule, in the order of the fleet.

    Args:
        fleet: What was asked for.
        rules: Which rules to ask; by default all.
    """
    found = (finding for each in rules for finding in each.findings(fleet))
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.severity.rank, each.rule)))


def find_rule(id: str) -> Rule:  # noqa: A002 - the word of the data
    """Looks a rule up.

    Args:
        id: Such as ``GPU001``, in any case.

    Raises:
        UnknownNameError: No rule has this id; carries the nearest ids.
    """
    by_id = {each.id: each for each in RULES}
    wanted = id.strip().upper()
    if wanted not in by_id:
        nearest = tuple(get_close_matches(wanted[:64], by_id, n=3, cutoff=0.6))
        raise UnknownNameError(f"no rule {id!r}", value=id, nearest=nearest)
    return by_id[wanted]

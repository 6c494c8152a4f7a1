"""The emulator is an oracle only as long as it shares nothing with what it judges."""

from __future__ import annotations

import ast
from importlib.util import find_spec, resolve_name
from pathlib import Path

JUDGED = {"gpu_constructs", "stacks", "aws_cdk", "constructs", "jsii"}


def imported(module: str) -> set[str]:
    """What a module of the tests imports, by the whole name; nothing for a name that is only in a module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return set()
    if spec is None or spec.origin is None:
        return set()
    names = set[str]()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), spec.parent)
            names |= {base, *(f"{base}.{each.name}" for each in node.names)}
    return names


def test_the_emulator_imports_neither_the_library_nor_the_cdk() -> None:
    met, left = set[str](), {"tests.e2e.emulator.__main__"}
    while left:
        met.add(module := left.pop())
        if module.startswith("tests."):
            left |= imported(module) - met
    assert {"moto", "tests.e2e.emulator.cloudformation"} <= {each.partition(".")[0] for each in met} | met
    assert not {each.partition(".")[0] for each in met} & JUDGED

"""``docs/rules.md`` says what the rules say."""

from __future__ import annotations

from gpu_constructs.rules import RULES
from tools.build_rules_page import PAGE, page


def test_the_page_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(RULES), "run `python -m tools.build_rules_page`"


def test_every_rule_has_its_section_with_its_source() -> None:
    sections = page(RULES).split("\n## ")[1:]
    assert [each.partition("\n")[0] for each in sections] == [each.id for each in RULES]
    assert all(rule.source in section for rule, section in zip(RULES, sections, strict=True))

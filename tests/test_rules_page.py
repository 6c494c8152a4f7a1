"""``docs/rules.md`` says what the rules say."""

from __future__ import annotations

import re
from functools import cache

from gpu_constructs.rules import RULES
from tools import build_rules_page

page = cache(build_rules_page.page)


def test_the_page_is_up_to_date() -> None:
    written = build_rules_page.PAGE.read_text(encoding="utf-8")
    assert written == page(), "run `python -m tools.build_rules_page`"


def test_every_rule_has_its_section_with_its_source() -> None:
    sections = {each.partition("\n")[0]: each for each in page().split("\n### ")[1:]}
    assert sorted(sections) == [each.id for each in RULES]
    assert all(each.source in sections[each.id] for each in RULES)


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    headings = {each.lower().replace(" ", "-") for each in re.findall(r"^##+ (.+)$", page(), re.MULTILINE)}
    assert set(re.findall(r"\(#([^)]+)\)", page())) <= headings

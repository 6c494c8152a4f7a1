"""The catalogue as a whole: ids that stay and are never used again, texts in one voice, errors that have a source."""

from __future__ import annotations

import re
from pathlib import Path

from gpu_constructs import rules
from gpu_constructs.fleet import UNKNOWN, Fleet, Origin, PurchaseOption, Remark
from gpu_constructs.rules import Severity, all_rules, catalogue
from gpu_constructs.rules.catalogue import check, find_rule, known_id
from gpu_constructs.rules.other_ids import PART_OF, reported_by
from tests.rules.given import a_pool, a_task, running_on
from tests.synthesis import ROOT


def test_ids_are_given_once_and_in_order() -> None:
    ids = [each.id for each in all_rules()]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"GPU[0-9]{3}", each) for each in ids)


def test_every_module_with_rules_is_in_the_catalogue() -> None:
    room = Path(str(rules.__file__)).parent
    text = "".join(file.read_text() for file in room.rglob("*.py"))
    written = re.findall(r'^@(?:error|warning|info)\(\s*"(GPU\d+)"', text, re.MULTILINE)
    assert sorted(written) == [each.id for each in all_rules()]


def test_a_question_ends_with_its_mark_and_a_reason_without_a_full_stop() -> None:
    assert [each.id for each in all_rules() if not re.fullmatch(r"[a-z][^?]*\?", each.question)] == []
    assert [each.id for each in all_rules() if re.search(r"\.$|\. |http", each.because)] == []


def test_an_error_that_can_be_a_warning_says_when_apart_from_its_reason() -> None:
    assert [each.id for each in all_rules() if "warning" in each.because] == []
    assert [each.id for each in all_rules() if each.softer and each.severity is not Severity.ERROR] == []
    texts = {file.name: file.read_text() for file in Path(str(rules.__file__)).parent.glob("*/*.py")}
    assert [name for name, text in texts.items() if ("is_certain=" in text) != ("softer=" in text)] == []


def test_a_rule_rests_on_a_page_and_an_error_on_nothing_less() -> None:
    unconfirmed = [each for each in all_rules() if not each.source.startswith("https://")]
    assert [each.id for each in unconfirmed if not each.source.startswith("UNCONFIRMED: ")] == []
    assert [each.id for each in unconfirmed if each.severity is Severity.ERROR] == []


def test_a_rule_is_found_by_its_id_in_any_case() -> None:
    assert find_rule(known_id(" gpu001 ")) is all_rules()[0]


def test_ids_that_others_name_are_those_of_rules() -> None:
    package = Path(str(rules.__file__)).parents[1]
    texts = {file: file.read_text() for file in package.rglob("*.py") if file.name != "other_ids.py"}
    named = {(file.name, each) for file, text in texts.items() for each in re.findall(r"\bGPU[0-9]{3}\b", text)}
    ids = {each.id for each in all_rules()}
    assert {each for each in named if each[1] not in ids} == {("lint.py", "GPU000")}


def test_what_reads_sections_is_asked_where_there_are_files() -> None:
    room = Path(str(rules.__file__)).parent
    reads = {
        ".".join(file.relative_to(room).with_suffix("").parts)
        for file in room.glob("*/*.py")
        if re.search(r"^from gpu_constructs\.template", file.read_text(), re.MULTILINE)
    }
    # Constructors ask rules of these files as well, and load the readers with them.
    asked_without = {"batch.jobs", "hosts.efa", "hosts.joining", "hosts.launches"}
    of_rules = {each for each in reads if not each.startswith("evidence.")}
    assert of_rules - asked_without == catalogue._READ_SECTIONS


def test_what_could_not_be_read_is_named_whatever_else_there_is() -> None:
    remark = Remark(text="MinSize is no number", origin=Origin(resource="Hosts"))
    assert [each.rule for each in check(Fleet(remarks=(remark,)))] == ["GPU116"]


def test_errors_come_first() -> None:
    vague = a_pool("g6.xlarge", "g6.12xlarge", purchase=PurchaseOption.SPOT, max_instances=UNKNOWN)
    ranks = [each.severity.rank for each in check(running_on(vague, task=a_task("4")))]
    assert len(set(ranks)) > 1
    assert ranks == sorted(ranks)


_ASKED = {each.id for each in all_rules()}
DECISION = (ROOT / "docs" / "decisions" / "0036-which-rules-stay.md").read_text(encoding="utf-8")


def test_an_id_that_went_is_not_used_again() -> None:
    assert not _ASKED & {*PART_OF, *reported_by()}
    assert not PART_OF.keys() & reported_by().keys()
    assert list(PART_OF) == sorted(PART_OF)


def test_each_says_who_asks_now() -> None:
    assert [id_ for id_, now in PART_OF.items() if now not in _ASKED] == []
    said = re.findall(r"^\| (GPU\d+) \| .+ \| retired \| (.+?)(?: \(\[decision .+)? \|$", DECISION, re.MULTILINE)
    assert dict(said) == reported_by()


def test_the_decision_says_which_id_is_free() -> None:
    last = max(int(each.removeprefix("GPU")) for each in {*_ASKED, *PART_OF, *reported_by()})
    assert re.findall(r"GPU(\d+) and those above it are free", DECISION) == [str(last + 1)]

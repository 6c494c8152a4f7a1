"""What was odd about a file is said where it stands."""

from __future__ import annotations

from gpu_constructs.fleet import Fleet, Origin, Remark, RemarkKind
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.files import unread_input
from tests.rules.given import asked

RULES = rules_of(unread_input)

HERE = Origin(resource="Service", file="app.yaml", line=12)


def test_a_key_that_is_written_twice_is_a_warning_with_its_line() -> None:
    remark = Remark(kind=RemarkKind.DUPLICATE_KEY, text="DesiredCount is written twice", origin=HERE)
    found = asked(RULES, Fleet(remarks=(remark,)))
    assert list(found) == ["GPU115"]
    finding = found["GPU115"]
    assert (finding.severity, finding.subject, finding.origin) == (Severity.WARNING, "Service", HERE)
    assert finding.message == "DesiredCount is written twice"


def test_a_part_that_was_not_understood_is_worth_knowing() -> None:
    remark = Remark(kind=RemarkKind.NOT_READ, text="Fn::Transform was not worked out", origin=HERE)
    finding = asked(RULES, Fleet(remarks=(remark,)))["GPU116"]
    assert (finding.severity, finding.message) == (Severity.INFO, "Fn::Transform was not worked out")


def test_a_file_without_oddities_has_no_remarks() -> None:
    assert asked(RULES, Fleet()) == {}

"""What is asked of every fleet, and what each question rests on."""

from __future__ import annotations

import json

import pytest

from gpu_constructs.cli import main
from gpu_constructs.rules import all_rules, find_rule


def test_every_rule_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    output = capsys.readouterr().out
    for each in all_rules():
        assert sum(line.startswith(each.id) for line in output.splitlines()) == 1


@pytest.mark.parametrize("id_", ["gpu002", "gpu-constructs::GPU002"])
def test_one_rule_comes_with_its_reason_and_source(id_: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", id_]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert all(text in told for text in (find_rule("GPU002").because, find_rule("GPU002").source))


def test_programs_get_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in listed] == [each.id for each in all_rules()]
    assert set(listed[0]) == {"id", "severity", "question", "because", "softer", "source"}


def test_programs_get_one_rule_as_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "GPU002", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == find_rule("GPU002").question


def test_a_warning_of_constructs_is_no_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "gpu-constructs::cpu-units"]) == 0
    assert "gpu-constructs::cpu-units is a warning of a construct" in capsys.readouterr().out


def test_a_rule_that_does_not_exist_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "GPU02"]) == 2
    message = capsys.readouterr().err
    assert "no rule or warning 'GPU02'" in message
    assert any(each.id in message for each in all_rules())

"""Which instance types there are for a need."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from gpu_constructs.cli import main
from gpu_constructs.hardware import Architecture, accelerated, find


def names(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["instances", "--format", "json", *arguments]) == 0
    return [each["name"] for each in json.loads(capsys.readouterr().out)]


def test_without_a_need_every_accelerated_type_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(names(capsys)) == {each.name for each in accelerated()}


def test_needs_are_those_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    listed = names(capsys, "--min-gpus", "4", "--gpu-memory-gib", "40", "--purchase", "spot", "--arch", "x86_64")
    found = find(min_gpus=4, gpu_memory_mib=40 * 1024, architecture=Architecture.X86_64)
    assert listed == [each.name for each in found if "spot" in map(str, each.purchase_classes)]
    assert "g6e.12xlarge" in listed


@pytest.mark.parametrize(
    ("arguments", "there", "not_there"),
    [
        (["--model", "l4"], "g6.xlarge", "g5.xlarge"),
        (["--gpu-memory-gib", "22.3", "--model", "L4"], "g6.xlarge", "g6f.large"),
        (["--family", "g6"], "g6.48xlarge", "g6e.xlarge"),
        (["--vendor", "neuron"], "inf2.xlarge", "g6.xlarge"),
        (["--region", "eu-west-1"], "g5.xlarge", "p3.2xlarge"),
        (["--arch", "arm64"], "g5g.xlarge", "g5.xlarge"),
    ],
)
def test_a_need_leaves_out_what_does_not_satisfy_it(
    arguments: Sequence[str], there: str, not_there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = names(capsys, *arguments)
    assert there in listed
    assert not_there not in listed


def test_24_gib_are_more_than_an_l4_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert "g6.xlarge" not in names(capsys, "--gpu-memory-gib", "24")


def test_a_family_without_accelerators_is_listed_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert "c7i.2xlarge" in names(capsys, "--family", "c7i")


def test_the_table_has_a_row_for_each_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--family", "g6f"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["type", "count", "accelerator"]
    assert rows[0].split()[:5] == ["g6f.large", "0.125", "L4", "2.7", "8.9"]


def test_no_type_at_all_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--min-gpus", "4", "--arch", "arm64", "--region", "us-east-1"]) == 0
    assert "no instance type" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--family", "g66"], "did you mean g6"),
        (["--model", "A10"], "--model: the catalogue of 2026-09-29 has no 'A10'; fix: did you mean A10G"),
        (["--region", "eu-west-9"], "eu-west-1"),
        (["--min-gpus", "-1"], "--min-gpus: "),
        (["--min-gpus", "two"], "--min-gpus: invalid int value: 'two'"),
        (["--gpu-memory-gib", "nan"], "--gpu-memory-gib: nan is not a size of memory"),
        (["--gpu-memory-gib", "1e300"], "--gpu-memory-gib"),
        (["--gpu-memory-gib", "-4"], "--gpu-memory-gib"),
        (["--purchase", "rent"], "'rent'"),
    ],
)
def test_what_can_mean_nothing_is_refused_with_what_could(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["instances", *arguments]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""


def test_the_memory_that_is_printed_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--model", "L4", "--family", "g6"]) == 0
    assert " 22.3 " in capsys.readouterr().out
    assert "g6.xlarge" in names(capsys, "--model", "L4", "--gpu-memory-gib", "22.3")

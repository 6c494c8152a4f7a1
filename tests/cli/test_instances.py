"""Which instance types there are for a need."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs.cli import main
from gpu_constructs.cli.instance_flags import FLAGS
from gpu_constructs.facts import Architecture, InstanceNeeds, Range, choose
from gpu_constructs.facts.filters import _ROWS
from gpu_constructs.facts.model_shapes import MODEL_SHAPES
from tests.examples import times

PAGE = Path(__file__).parents[2] / "docs" / "planning.md"


def names(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    return [each["name"] for each in report(capsys, *arguments)["instance_types"]]


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["instances", "--format", "json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["instances", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_needs_are_those_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    listed = names(capsys, "--gpus", "4..", "--gpu-memory-gib", "40", "--purchase", "spot", "--arch", "x86_64")
    needs = InstanceNeeds(gpus=Range(4), gpu_memory_mib=Range(40 * 1024), architecture=Architecture.X86_64)
    found = [each.instance_type for each in choose(needs).offers]
    assert set(listed) == {each.name for each in found if "spot" in map(str, each.purchase_classes)}
    assert "g6e.12xlarge" in listed
    assert {name.partition(".")[0][:3] for name in names(capsys, "--vendor", "neuron")} == {"inf", "trn"}


@pytest.mark.parametrize("page", [PAGE.read_text(), ""])
def test_examples_find_something(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not page:
        assert main(["instances", "--help"]) == 0
        page = capsys.readouterr().out
        assert "llama-3.1-8b" in page  # the known models
    commands = [
        each.split("#")[0] for each in page.splitlines() if each.strip().startswith("gpu-constructs instances ")
    ]
    assert len(commands) >= 4
    for each in commands:
        arguments = [one for one in shlex.split(each)[2:] if one not in {"everything", "with", "an", "accelerator"}]
        assert main(["instances", *arguments]) == 0
        assert "satisfies all of that" not in capsys.readouterr().out, each


def test_the_table_has_a_row_for_each_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--family", "g6f"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["type", "count", "accelerator"]
    assert rows[0].split() == ["g6f.large", "0.125", "L4", "2.7", "2", "0.20", "1.62", "a"]
    assert rows[-1] == "a: on-demand list price of us-east-1, 2026-07-20"


@pytest.mark.parametrize(
    ("arguments", "has", "has_not"),
    [
        ("--gpus 4", {4}, set()),
        ("--gpus 1..4", {1, 2, 4}, {8}),
        ("--gpus ..1", {0, 1}, {2}),
        ("--gpus 8..", {8, 16}, {4}),
    ],
)
def test_a_count_is_exact_or_a_range(
    arguments: str, has: set[int], has_not: set[int], capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {each["gpus"] for each in report(capsys, *arguments.split())["instance_types"]}
    assert has <= counts
    assert not has_not & counts


def test_the_cheapest_come_first_then_those_without_a_price_and_last_what_no_region_offers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = report(capsys, "--gpus", "8..")["instance_types"]
    groups = [(not each["offered"], each["price"] is None) for each in found]
    assert groups == sorted(groups)
    assert {*groups} >= {(False, False), (False, True), (True, False)}
    prices = [each["price"]["usd_per_hour"] for each in found if each["offered"] and each["price"]]
    assert prices == sorted(prices)
    assert [each["name"] for each in found if not each["offered"]] == [
        "p2.8xlarge",
        "p2.16xlarge",
        "p3.16xlarge",
    ]
    assert "the last 3 are offered in no region of the catalogue of 2026-09-29" in lines(capsys, "--gpus", "8..")


def test_prices_of_several_days_and_regions_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    *_, first, second = lines(capsys, "--family", "g7,g6", "--region", "eu-north-1")
    assert first == "a: on-demand list price of eu-north-1, 2026-08-26"
    assert second == "b: on-demand list price of us-east-1, 2026-07-20"


def test_types_are_sorted_by_the_price_of_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--family", "g6,g6e", "--sort-by", "price-per-gpu")["instance_types"]
    prices = [each["price"]["usd_per_accelerator_hour"] for each in found]
    assert prices == sorted(prices)


@pytest.mark.parametrize("arguments", ["", "--serve llama-3.1-405b --context 128k", "--similar p5.48xlarge"])
def test_each_type_is_one_line_of_80_columns(
    arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = lines(capsys, *arguments.split())
    assert max(map(len, shown)) <= 80
    assert sum(each.split(" ")[0].count(".") == 1 and "xlarge" in each for each in shown) >= 3


def test_similar_types_take_every_task_of_the_type(capsys: pytest.CaptureFixture[str]) -> None:
    listed = names(capsys, "--similar", "g6.12xlarge", "--purchase", "spot")
    assert listed[0] == "g6.12xlarge"
    assert "g6e.12xlarge" in listed
    assert "g5.12xlarge" not in listed
    assert "g5.12xlarge" in names(capsys, "--similar", "g6.12xlarge", "--compute-capability", "8.6")
    assert "similar means --gpus 4 --gpu-memory-gib 22.3.." in "\n".join(lines(capsys, "--similar", "g6.12xlarge"))


def test_the_need_that_empties_the_list_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--gpus", "4", "--arch", "arm64", "--region", "us-east-1"]
    assert lines(capsys, *asked) == [
        "no instance type of the catalogue of 2026-09-29 satisfies all of that",
        "  --gpus 4: 13 left",
        "  --arch arm64: 1 left",
        "  --region us-east-1: 0 left",
    ]
    assert [each["left"] for each in report(capsys, *asked)["needs"]] == [13, 1, 0]


def test_a_model_is_held_over_the_gpus_it_takes_and_its_parts_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    asked = ["--model-size", "70B", "--precision", "fp8", "--context", "32k"]
    found = report(capsys, *asked)
    gpus = {each["name"]: each["gpus_for_the_model"] for each in found["instance_types"]}
    assert gpus["p5.48xlarge"] == 2
    assert gpus["g6.48xlarge"] == 8
    assert "g6.12xlarge" not in gpus
    parts = {each["name"]: each for each in found["model_memory"]["parts"]}
    assert list(parts) == ["weights", "KV cache", "activations", "runtime"]
    assert parts["KV cache"]["basis"] == "assumed"
    text = "\n".join(lines(capsys, *asked))
    assert "67.92 billion parameters x 1 byte + 2.08 billion of embeddings and output" in text
    assert "its shape is assumed to be that of llama-3.1-70b" in text
    assert "2 of 8" in text


@pytest.mark.parametrize("name", ["g6f.large", "g6.12xlarge", "p5.48xlarge", "inf2.xlarge", "f2.6xlarge", "c7i.large"])
def test_what_similar_means_can_be_given_instead(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--similar", name)
    flags = shlex.split(" ".join(found["similar_means"]))
    assert names(capsys, *flags) == [each["name"] for each in found["instance_types"]]


def test_the_page_shows_what_is_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = PAGE.read_text(encoding="utf-8")
    assert [each.name for each in MODEL_SHAPES if each.name not in text.partition(" Known are ")[2][:600]] == []
    command, _, shown = text.partition("$ gpu-constructs instances ")[2].partition("\n")
    written = shown.partition("\n```")[0].splitlines()
    assert lines(capsys, *command.split("|")[0].split())[: len(written)] == written


OPTIONS = [
    *(each.name for each in FLAGS.values() if each.metavar),
    *("--similar", "--serve", "--model-size", "--context", "--sequences"),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(OPTIONS),
            st.from_regex(r"[0-9]{0,3}(\.\.)?[0-9.]{0,4}[a-zA-Z*]{0,3}", fullmatch=True) | st.text(max_size=8),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["text", "json"]),
)
@settings(max_examples=times(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_is_answered_or_refused_in_words(
    capsys: pytest.CaptureFixture[str], asked: list[tuple[str, str]], form: str
) -> None:
    code = main(["instances", "--format", form, *(f"{name}={value}" for name, value in asked if name[1] == "-")])
    output = capsys.readouterr()
    assert (code, bool(output.out)) in {(0, True), (2, False)}
    assert "internal error" not in output.err


def test_every_need_has_a_flag_and_a_filter() -> None:
    needs = [each.name for each in fields(InstanceNeeds)]
    assert list(FLAGS) == needs
    assert list(_ROWS) == needs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--family", "g66"], "did you mean g6"),
        (["--model", "A10"], "--model: the catalogue of 2026-09-29 has no 'A10'; fix: did you mean A10G"),
        (["--region", "eu-west-9"], "eu-west-1"),
        (["--gpus", "-1"], "--gpus: "),
        (["--gpus", "two"], "--gpus: 'two' is not a number"),
        (["--gpu-memory-gib", "nan"], "--gpu-memory-gib: nan is not a size of memory"),
        (["--gpu-memory-gib", "1e300"], "--gpu-memory-gib"),
        (["--gpu-memory-gib", "-4"], "--gpu-memory-gib"),
        (["--purchase", "rent"], "'rent'"),
        (["--gpus", "4..1"], "--gpus: nothing is at least 4 and at most 1"),
        (["--gpus", ".."], "--gpus: '..' has no bound; allowed: N..M, N.. or ..M"),
        (["--gpus", "4-8"], "--gpus: '4-8' is not a range; fix: 4..8"),
        (["--gpus", "1.5"], "'1.5' is not a whole number"),
        (["--price", "1e3"], "--price: '1e3' is not a number"),
        (["--gpu-memory-gib", "9" * 5000], "--gpu-memory-gib: 999"),
        (["--compute-capability", "ada"], "--compute-capability: 'ada' is not a compute capability"),
        (["--family", ","], "--family: no name is given"),
        (["--precision", "int4"], "--precision: no number format 'int4'; fix: did you mean awq or gptq"),
        (["--model", "L5"], "fix: one of A100, A10G"),
        (["--sort-by", "prize"], "'prize'"),
        (["--similar", "g66.xlarge"], "--similar: "),
        (["--serve", "llama-3.1-80b"], "did you mean llama-3.1-8b"),
        (["--serve", "llama-3.1-8b", "--model-size", "8B"], "--model-size: a known model has its size"),
        (["--model-size", "many"], "--model-size: 'many' is not the size of a model"),
        (["--model-size", "0B"], "--model-size: 0 billion"),
        (["--model-size", "7B", "--context", "0"], "--context: '0' is not a count"),
        (["--model-size", "7B", "--context", "999999999m"], "--context: got"),
        (["--context", "32k"], "--context: there is no model; fix: add --serve or --model-size"),
    ],
)
def test_what_can_mean_nothing_is_refused_with_what_could(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["instances", *arguments]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""


def test_types_of_a_configuration_around_the_working_directory_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    below = tmp_path / "repository" / "below"
    below.mkdir(parents=True)
    declared = "instance_types: {g9.xlarge: {vcpus: 4, memory_mib: 16384, gpus: 1, gpu_model: R200, gpu_memory_mib: 1}}"
    (tmp_path / "gpu-constructs.yaml").write_text(declared, encoding="utf-8")
    (tmp_path / "repository" / ".git").mkdir()
    monkeypatch.chdir(below)
    assert main(["instances"]) == 0
    assert "g9.xlarge" not in capsys.readouterr().out
    (tmp_path / "repository" / "gpu-constructs.yaml").write_text(declared, encoding="utf-8")
    assert main(["instances"]) == 0
    assert "g9.xlarge" in capsys.readouterr().out

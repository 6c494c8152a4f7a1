"""The configuration of a project: what it can say, and how what is wrong in it is told at its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs.check.configuration import Configuration, configuration_of, found_configuration
from gpu_constructs.cli import main
from gpu_constructs.facts import known_type
from gpu_constructs.template import UnreadableError
from gpu_constructs.testing import gpus
from tests.cli.templates import template, written
from tests.linting import found_by

WHOLE = """\
region: eu-west-1
fail_on: warning
partial: true
ignore: [gpu002]
parameters: {Size: 4, Flag: true}
hosts: {g6.xlarge: 4, g9.xlarge: 1}
instance_types:
  g9.xlarge:
    vcpus: 4
    memory_mib: 16384
    gpus: 1
    gpu_model: L4
"""
FACTS = {"vcpus": 4, "memory_mib": 16384, "gpus": 1, "gpu_model": "L4", "gpu_memory_mib": 22888}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(text: str, name: str = "gpu-constructs.yaml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableError) as error:
        configuration_of(name)
    return str(error.value)


@pytest.mark.parametrize("text", ["", "# region: eu-west-1\n"])
def test_one_that_says_nothing_changes_nothing(text: str) -> None:
    Path("gpu-constructs.yaml").write_text(text, encoding="utf-8")
    assert found_configuration() == Configuration(file="gpu-constructs.yaml")


def test_it_says_what_the_command_line_would() -> None:
    assert found_configuration() == Configuration()
    Path("gpu-constructs.yaml").write_text(WHOLE, encoding="utf-8")
    found = found_configuration()
    assert (found.region, found.fail_on, found.partial, found.ignore) == ("eu-west-1", "warning", True, ("GPU002",))
    assert (found.parameters, found.hosts) == ({"Size": "4", "Flag": "true"}, {"g6.xlarge": 4, "g9.xlarge": 1})
    assert found.instance_types["g9.xlarge"].declared
    assert known_type("g9.xlarge") is None


def test_values_of_parameters_are_the_text_that_is_written() -> None:
    words = ("yes", "010", "1_0", "1e1", "0x5", "+5", "2020-01-01", "'007'", "&a 08", "*a")
    listed = "".join(f"\n  P{at}: {each}" for at, each in enumerate(words))
    Path("gpu-constructs.yaml").write_text(f"parameters:{listed}", encoding="utf-8")
    assert tuple(found_configuration().parameters.values()) == (*words[:7], "007", "08", "08")
    Path("other.json").write_text('{"parameters": {"N": 10, "Flag": true}}', encoding="utf-8")
    assert found_configuration("other.json").parameters == {"N": "10", "Flag": "true"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("regoin: x", ":1: regoin: a configuration has no 'regoin'; allowed: baseline, exclude, fail_on, hosts,"),
        ("region: x\nfail-on: error", ":2: fail-on: a configuration has no 'fail-on'; allowed: .*did you mean fail_on"),
        ("region: eu-west-11", ":1: region: got 'eu-west-11'; allowed: a name such as eu-west-1"),
        ("\nfail_on: often", ":2: fail_on: got 'often'; allowed: error, warning, info, unchecked, never"),
        ("partial: 1", ":1: partial: got 1; allowed: true or false"),
        ("ignore: GPU002", ":1: ignore: got 'GPU002'; allowed: a list of rules"),
        (
            "ignore:\n  - GPU002\n  - GPU0022",
            ":3: ignore.1: check has no rule or warning 'GPU0022'; fix: did you ",
        ),
        ("parameters: {A: [1]}", ":1: parameters.A: expects a single value; allowed: a text, a number"),
        ("hosts: [g6.xlarge]", ":1: hosts: expects an object; allowed: up to 400 entries"),
        ("hosts:\n  g6.xlarge: 0", ":2: hosts.g6.xlarge: got 0; allowed: a number of hosts from 1"),
        ("hosts:\n  g6.xlarge: 1\n  trn9.48xlarge: 1", ":3: hosts.trn9.48xlarge: the catalogue .*did you mean trn2"),
        ("hosts: {g6.xlrge: 1}", "hosts.g6.xlrge: 'g6.xlrge' cannot be an instance type"),
        ("instance_types: {g9.xlarge: 4}", "instance_types.g9.xlarge: got 4; allowed: an object"),
        (
            "instance_types:\n  g9.xlarge: {vcpus: 4}",
            ":2: instance_types.g9.xlarge: memory_mib of .* is missing",
        ),
        (
            "instance_types:\n  g9.xlarge:\n    vcpus: 4\n    memory_mib: 16 GiB",
            ":4: .*memory_mib: got '16 GiB'",
        ),
        ("instance_types:\n  g9.xlarge:\n    vcpus: 4\n    memory: 4", ":4: .*no 'memory'; .*did you mean memory_mib"),
        (
            "instance_types:\n  g9.xlarge: {vcpus: 4, memory_mib: 4, gpus: 1, gpu_model: X, compute_capability: 10.10}",
            ":2: .*compute_capability: got '10.10'; allowed: .* of one digit",
        ),
        ("instance_types: {g9: {vcpus: 4, memory_mib: 4}}", "'g9' cannot be an instance type"),
        ("instance_types: {g6.xlarge: {vcpus: 8, memory_mib: 16384}}", "declared with 8; fix: remove the declaration"),
        ("region: eu-west-1\nregion: eu-west-2", ":2: 'region' is written twice"),
        ("- region", "a list, not an object; allowed: baseline, exclude, fail_on, hosts"),
        ("7", "a single value, not an object; allowed: baseline, exclude, fail_on, hosts"),
        ("region: [", ":1"),
        ("ignore: [{rule: GPU060}]", ":1: ignore.0: reason is missing; allowed: rule, reason, path, resource, until"),
        ("ignore: [{rule: GPU060, reasn: x}]", ":1: ignore.0.reasn: .*; fix: did you mean reason\\?"),
        ("ignore: [{rule: GPU060, reason: x, until: soon}]", ":1: ignore.0.until: got 'soon'; allowed: a day such as"),
        ("severity: {GPU060: bad}", ":1: severity.GPU060: got 'bad'; allowed: error, warning, info"),
        ("exclud: [a]", ":1: exclud: .*; fix: did you mean exclude\\?"),
        ("a: &a [*a, *a]", "gpu-constructs.yaml"),
    ],
    ids=lambda value: value[:40],
)
def test_what_is_wrong_is_told_at_its_line(text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(words, refused(text)), refused(text)
    assert main(["check", written(template(), Path("t.json"))]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_two_configurations_are_refused() -> None:
    Path("gpu-constructs.yaml").write_text("partial: true")
    Path("gpu-constructs.toml").write_text("partial = true")
    with pytest.raises(UnreadableError, match="gpu-constructs.yaml: there is gpu-constructs.toml too; .*--config"):
        found_configuration()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text() | st.just("g9.xlarge"), each, max_size=3),
)
_KEYS = st.sampled_from(["region", "fail_on", "partial", "ignore", "parameters", "hosts", "instance_types"])


@given(st.dictionaries(_KEYS, _VALUES))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_values_are_read_or_refused_in_our_words(content: dict[str, Any]) -> None:
    Path("any.json").write_text(json.dumps(content), encoding="utf-8")
    try:
        configuration_of("any.json")
    except UnreadableError as error:
        assert error.file == "any.json"  # noqa: PT017 - or nothing is raised


def declared(*, gpus_asked: str = "1", **said: Any) -> str:
    """A template on a type newer than the catalogue, and the configuration that declares it."""
    Path("gpu-constructs.json").write_text(json.dumps({"instance_types": {"g9.xlarge": FACTS}, **said}))
    return written(template(instance_type="g9.xlarge", gpus=gpus_asked), Path("t.json"))


def rules_of_check(*arguments: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["check", *arguments, "--format", "json"])
    return [each["rule"] for each in json.loads(capsys.readouterr().out)["findings"] if each["severity"] != "info"]


def test_every_door_takes_a_declared_type_for_one_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    name = declared()
    assert rules_of_check(name, capsys=capsys) == []
    assert rules_of_check(name, "gpu-constructs.json", capsys=capsys) == []  # as *.json names it
    assert main(["explain", "Chat", name]) == 0
    assert "g9.xlarge (declared)  fits" in capsys.readouterr().out
    assert main(["instances", "--family", "g9"]) == 0
    assert "g9.xlarge (declared)" in capsys.readouterr().out
    gpus(name, configuration="gpu-constructs.json").has_no_findings()
    assert [each.message for each in in_cfn_lint(name) if "GPU051" in each.message] == []
    Path("gpu-constructs.json").rename("elsewhere.json")
    assert rules_of_check(name, capsys=capsys) == ["GPU051"]
    assert rules_of_check(name, "--config", "elsewhere.json", capsys=capsys) == []
    assert [each.rule.id for each in in_cfn_lint(name) if "GPU051" in each.message] == ["W9551"]


def in_cfn_lint(name: str) -> list[Any]:
    return list(found_by(Path(name).read_text(encoding="utf-8"), "gpu_constructs.lint", regions=["us-east-1"]))


def test_cfn_lint_says_what_is_wrong_in_it() -> None:
    name = declared(regoin="x")
    assert any("E9500" in str(each) and "regoin" in str(each) for each in in_cfn_lint(name))


def test_what_is_on_the_command_line_counts_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    name = declared(gpus_asked="2", fail_on="never", region="eu-west-1")
    assert main(["check", name]) == 0
    assert main(["check", name, "--fail-on", "error"]) == 1
    capsys.readouterr()
    assert main(["check", name, "--region", "eu-north-2"]) == 0
    assert "nothing is recorded about region eu-north-2" in capsys.readouterr().err

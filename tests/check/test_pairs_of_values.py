"""Values of two parameters that bring something only together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check import other_values
from gpu_constructs.check.report import Report, check_files
from gpu_constructs.cli.check import lines
from tests.cli.templates import template, written
from tests.properties.small_worlds import Design, Hosts, Knob, Work
from tests.properties.written_worlds import files_of


def _one_of(*values: str) -> dict[str, Any]:
    return {"Type": "String", "Default": values[0], "AllowedValues": list(values)}


def reviewed(folder: Path, *, types: tuple[str, ...], gpus: tuple[str, ...]) -> Report:
    """A service whose GPUs and whose hosts have a parameter each."""
    declared = {"It": _one_of(*types), "Gpus": _one_of(*gpus)}
    body = template(instance_type={"Ref": "It"}, Parameters=declared)
    container = body["Resources"]["Chat"]["Properties"]["ContainerDefinitions"][0]
    container["ResourceRequirements"] = [{"Type": "GPU", "Value": {"Ref": "Gpus"}}]
    return check_files([written(body, folder / "t.json")])


def test_two_values_that_fail_only_together_are_a_warning_with_a_table(tmp_path: Path) -> None:
    review = reviewed(tmp_path, types=("g6.12xlarge", "g6.xlarge"), gpus=("1", "4"))
    warned = [each for each in review.findings if each.parameter]
    assert {each.parameter for each in warned} == {"It and Gpus"}
    assert warned[0].message.startswith("with It=g6.xlarge and Gpus=4: ")
    verdicts = [(each.value, each.finding is None) for each in review.values[0].verdicts]
    assert verdicts == [("g6.12xlarge and 1", True), ("g6.xlarge and 4", False)]
    assert "with other values of It and Gpus" in "\n".join("".join(text for text, _ in line) for line in lines(review))


def test_parameters_of_two_files_are_tried_together() -> None:
    one_gpu = Work("service", "strategy", copies=1, gpus="1", cpu=512, memory=512, strategy=((0, 0, 1),))
    types = Knob("hosts", 0, "types", (("g6.12xlarge",), ("g6.xlarge",)))
    design = Design(
        where="here",
        hosts=(Hosts(("g6.12xlarge",), least=0, most=2),),
        works=(one_gpu,),
        imported=False,
        partial=False,
        apart=True,
        named=True,
        knobs=(types, Knob("work", 0, "gpus", ("1", "4"))),
    )
    assert len(files_of(design)) == 2
    (table,) = check_files(files_of(design)).values
    assert {types.name, "Work0Gpus"} == {*table.parameter.split(" and ")}


def test_pairs_without_time_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_values, "READINGS", 3)
    review = reviewed(tmp_path, types=("g6.12xlarge", "g6.24xlarge", "g6.xlarge"), gpus=("1", "2"))
    assert review.untried == {"It and Gpus": 2}

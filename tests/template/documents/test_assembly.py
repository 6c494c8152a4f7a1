"""A cloud assembly is read whole, and never further than its directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template import UnreadableError
from gpu_constructs.template.model import Reference
from tests.template.written import read_stacks, resource, save, template


def stack_artifact(file: str, region: str = "unknown-region", **more: Any) -> dict[str, Any]:
    return {
        "type": "aws:cloudformation:stack",
        "environment": f"aws://unknown-account/{region}",
        "properties": {"templateFile": file, **more},
    }


def nested_in(folder: str) -> dict[str, Any]:
    return {"type": "cdk:cloud-assembly", "properties": {"directoryName": folder}}


def assembly(folder: Path, artifacts: Any, **templates: Any) -> Path:
    for name, content in templates.items():
        save(folder / f"{name}.template.json", content)
    save(folder / "manifest.json", {"version": "55.0.0", "artifacts": artifacts})
    return folder


def test_the_manifest_itself_can_be_named(tmp_path: Path) -> None:
    folder = assembly(tmp_path, {"A": stack_artifact("A.template.json")}, A=template(1))
    assert [each.name for each in read_stacks([folder / "manifest.json"]).stacks] == ["A"]


def test_assemblies_in_an_assembly_are_read(tmp_path: Path) -> None:
    assembly(tmp_path / "assembly-Prod", {"ProdA": stack_artifact("A.template.json", stackName="A")}, A=template(1))
    artifacts = {
        "A": stack_artifact("A.template.json"),
        "Prod": nested_in("assembly-Prod"),
    }
    stacks = read_stacks([assembly(tmp_path, artifacts, A=template(2))])
    assert [each.name for each in stacks.stacks] == ["A", "ProdA"]


def test_an_assembly_with_a_macro_is_not_whole(tmp_path: Path) -> None:
    content = template(1, Transform="MacroOfMyOwn")
    assert not read_stacks([assembly(tmp_path, {"A": stack_artifact("A.template.json")}, A=content)]).whole


def test_a_pipe_in_an_assembly_is_refused(tmp_path: Path) -> None:
    folder = assembly(tmp_path, {"A": stack_artifact("pipe")})
    os.mkfifo(folder / "pipe")
    with pytest.raises(UnreadableError, match="a device, a pipe or a directory; allowed: a plain file"):
        read_stacks([folder])


@pytest.mark.parametrize(
    ("artifacts", "words"),
    [
        ({"A": stack_artifact("missing.json")}, "missing.json: cannot be read: no such file"),
        ({"A": {"type": "aws:cloudformation:stack"}}, "artifact 'A' has no templateFile"),
        ({"A": {"type": "cdk:cloud-assembly", "properties": []}}, "manifest.json:1: artifact 'A' has no directoryName"),
        (["list"], "manifest.json:1: artifacts is not an object; fix: run cdk synth"),
        ({"Self": nested_in(".")}, "assemblies are nested too deeply"),
        ({"Out": nested_in("../outside")}, "names a file outside of its directory"),
        ({"A": stack_artifact("../outside.json")}, "names a file outside of its directory"),
        ({"A": stack_artifact("a\0b")}, "names a file outside of its directory"),
    ],
)
def test_a_manifest_that_is_odd_is_told(tmp_path: Path, artifacts: Any, words: str) -> None:
    save(tmp_path / "outside.json", template(1))
    assembly(tmp_path / "outside", {})
    with pytest.raises(UnreadableError, match=words):
        read_stacks([assembly(tmp_path / "cdk.out", artifacts)])


@pytest.mark.parametrize("content", ["{}", '{"artifacts": {"A": 5}}', '{"artifacts": {}}'])
def test_an_app_without_stacks_has_none(tmp_path: Path, content: str) -> None:
    save(tmp_path / "manifest.json", content)
    assert read_stacks([tmp_path]).stacks == ()


def test_a_directory_without_a_manifest_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="a directory without manifest.json; allowed: the cdk.out of cdk synth"):
        read_stacks([tmp_path])


def test_the_directory_of_an_app_says_where_its_assembly_is(tmp_path: Path) -> None:
    assembly(tmp_path / "cdk.out", {})
    with pytest.raises(UnreadableError, match=f"did you mean {tmp_path / 'cdk.out'}?"):
        read_stacks([tmp_path])


NESTED = {"Type": "AWS::CloudFormation::Stack"}
URL = {"Fn::Join": ["", ["https://s3.", {"Ref": "AWS::Region"}, {"Fn::Sub": ".x/cdk-${AWS::AccountId}"}, "/abc.json"]]}


def test_a_nested_stack_outside_of_the_assembly_is_refused_and_not_read_with_its_template(tmp_path: Path) -> None:
    save(tmp_path / "N.template.json", template(1))
    folder = tmp_path / "cdk.out"
    source = {"path": "../N.template.json", "packaging": "file"}
    asset = {"source": source, "destinations": {"x": {"objectKey": "some/abc.json"}}}
    save(folder / "A.assets.json", {"files": {"abc": asset, "odd": 5}})
    artifacts = {
        "A.assets": {"type": "cdk:asset-manifest", "properties": {"file": "A.assets.json"}},
        "A": stack_artifact("A.template.json"),
    }
    content = template(1, Resources={"Nested": {**NESTED, "Properties": {"TemplateURL": URL}}})
    assembly(folder, artifacts, A=content, N=template(2))
    with pytest.raises(UnreadableError, match="names a file outside of its directory"):
        read_stacks([folder])
    assert len(read_stacks([folder / "A.template.json"]).stacks) == 1


def test_a_nested_stack_is_found_by_its_metadata(tmp_path: Path) -> None:
    nested = {**NESTED, "Properties": {"TemplateURL": URL}, "Metadata": {"aws:asset:path": "N.template.json"}}
    content = template(1, Resources={"Nested": nested})
    folder = assembly(tmp_path, {"A": stack_artifact("A.template.json")}, A=content, N=template(2))
    for path in (folder, folder / "A.template.json"):
        assert resource(read_stacks([path]), "A/Nested", "Service").properties["Value"] == 2


def test_an_output_is_read_by_the_name_of_its_stack(tmp_path: Path) -> None:
    def output_of(name: str, **more: Any) -> Any:
        return {"Fn::GetStackOutput": {"StackName": name, "OutputName": "X", **more}}

    values = [output_of("real"), output_of("real", Region="us-east-1"), output_of("other"), output_of("real", Region=5)]
    artifacts = {
        "A": stack_artifact("A.template.json", "eu-west-1", stackName="real"),
        "B": stack_artifact("B.template.json", "eu-west-1"),
    }
    producer = template(1, Outputs={"X": {"Value": {"Ref": "Other"}}})
    stacks = read_stacks([assembly(tmp_path, artifacts, A=producer, B=template(values))])
    found = resource(stacks, "B", "Service").properties["Value"]
    assert found == [Reference("real", "Other"), UNKNOWN, UNKNOWN, Reference("real", "Other")]


def test_an_export_of_another_region_is_not_seen(tmp_path: Path) -> None:
    def exporting(value: str) -> Any:
        return template(1, Outputs={"X": {"Value": value, "Export": {"Name": "shared"}}})

    artifacts = {
        "A": stack_artifact("A.template.json", "eu-west-1"),
        "B": stack_artifact("B.template.json", "us-east-1"),
        "C": stack_artifact("C.template.json", "us-east-1"),
    }
    contents = {"A": exporting("a"), "B": exporting("b"), "C": template({"Fn::ImportValue": "shared"})}
    stacks = read_stacks([assembly(tmp_path, artifacts, **contents)])
    assert resource(stacks, "C", "Service").properties["Value"] == "b"


def test_a_template_of_an_assembly_that_is_named_too_is_read_once(tmp_path: Path) -> None:
    folder = assembly(tmp_path, {"A": stack_artifact("A.template.json", "eu-west-1")}, A=template(1))
    for paths in ([folder, folder / "A.template.json"], [folder / "A.template.json", folder]):
        assert [(each.name, each.region) for each in read_stacks(paths).stacks] == [("A", "eu-west-1")]

"""Files that are read together know each other: exports, outputs and nested stacks are followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template import Stacks, UnreadableError
from gpu_constructs.template.model import Reference, Text
from tests.pace import paces
from tests.template.written import in_service, not_read, read_stacks, resource, save, stack, template


def exporting(value: Any, name: Any = "network:Cluster") -> dict[str, Any]:
    return template(1, Outputs={"Cluster": {"Value": value, "Export": {"Name": name}}})


def read_two(folder: Path, network: Any, service: Any, **arguments: Any) -> Stacks:
    return read_stacks([save(folder / "network.json", network), save(folder / "service.json", service)], **arguments)


def value_in(stacks: Stacks, name: str = "service") -> Any:
    return resource(stacks, name, "Service").properties["Value"]


def test_imports_are_followed_in_both_directions(tmp_path: Path) -> None:
    network = {**exporting({"Ref": "Other"}), **template({"Fn::ImportValue": "service:X"})}
    network["Outputs"] = exporting({"Ref": "Other"})["Outputs"]
    service = template({"Fn::ImportValue": "network:Cluster"}, Outputs=exporting("x", "service:X")["Outputs"])
    stacks = read_two(tmp_path, network, service)
    assert (value_in(stacks), value_in(stacks, "network")) == (Reference("network", "Other"), "x")


def test_an_import_of_an_import_is_followed_to_its_end(tmp_path: Path) -> None:
    first = save(tmp_path / "first.json", exporting({"Ref": "Other"}, "first"))
    second = save(tmp_path / "second.json", exporting({"Fn::ImportValue": "first"}, "second"))
    third = save(tmp_path / "third.json", template({"Fn::ImportValue": "second"}))
    stacks = read_stacks([third, second, first])
    assert (value_in(stacks, "third"), stacks.remarks) == (Reference("first", "Other"), ())


def test_stacks_that_import_from_each_other_in_a_circle_are_unknown(tmp_path: Path) -> None:
    one = exporting({"Fn::ImportValue": "b"}, "a")
    other = {**exporting({"Fn::ImportValue": "a"}, "b")}
    other["Resources"]["Service"]["Properties"]["Value"] = {"Fn::ImportValue": "a"}
    assert value_in(read_two(tmp_path, one, other)) is UNKNOWN


def test_exports_that_double_each_other_come_to_an_end(tmp_path: Path) -> None:
    paths = [save(tmp_path / "s0.json", exporting("x" * 1000, "e0"))]
    for index in range(1, 40):
        twice = {"Fn::Join": ["", [{"Fn::ImportValue": f"e{index - 1}"}] * 2]}
        paths.append(save(tmp_path / f"s{index}.json", exporting(twice, f"e{index}")))
    paths.append(save(tmp_path / "last.json", template({"Fn::ImportValue": "e39"})))
    assert value_in(read_stacks(paths), "last") is UNKNOWN


@pytest.mark.parametrize(
    ("exported", "imported"),
    [
        ({"Fn::Sub": "${AWS::StackName}:Cluster"}, "production:Cluster"),
        ({"Fn::Sub": "${AWS::StackName}:Cluster"}, {"Fn::Sub": "${Network}:Cluster"}),
        (
            {"Fn::Join": [":", [{"Ref": "AWS::StackName"}, "Cluster"]]},
            {"Fn::Join": [":", [{"Ref": "Network"}, "Cluster"]]},
        ),
        ("production:Cluster", {"Fn::Sub": "${Network}:Cluster"}),
    ],
)
def test_a_name_with_the_stacks_name_in_it_is_followed_where_one_export_fits(
    tmp_path: Path, exported: Any, imported: Any
) -> None:
    service = template({"Fn::ImportValue": imported}, Parameters={"Network": {"Type": "String"}})
    stacks = read_two(tmp_path, exporting({"Ref": "Other"}, exported), service)
    assert value_in(stacks) == Reference("network", "Other")


@pytest.mark.parametrize(
    "imported",
    ["elsewhere:Cluster", {"Ref": "Network"}],
)
def test_an_import_that_no_file_exports_is_unknown(tmp_path: Path, imported: Any) -> None:
    service = template({"Fn::ImportValue": imported}, Parameters={"Network": {"Type": "String"}})
    assert value_in(read_two(tmp_path, exporting("x"), service)) is UNKNOWN


def test_an_import_that_fits_two_exports_is_unknown(tmp_path: Path) -> None:
    name = {"Fn::Sub": "${AWS::StackName}:Cluster"}
    paths = [save(tmp_path / f"{each}.json", exporting(each, name)) for each in ("one", "other")]
    service = save(tmp_path / "service.json", template({"Fn::ImportValue": "x:Cluster"}))
    assert value_in(read_stacks([*paths, service])) is UNKNOWN


@pytest.mark.parametrize("imported", ["prod-${X}", "prod-a-Subnets${X}prod-a-Subnets"])
def test_the_ends_of_a_name_that_fit_no_one_export_leave_it_unknown(tmp_path: Path, imported: str) -> None:
    names = {
        "exact": "prod-a-Cluster",
        "subnets": "prod-a-Subnets",
        "pattern": {"Fn::Sub": "prod-${AWS::StackName}-Cluster"},
        "other": {"Fn::Sub": "test-${AWS::StackName}-Cluster"},
    }
    outputs = {key: {"Value": key, "Export": {"Name": name}} for key, name in names.items()}
    service = template({"Fn::ImportValue": {"Fn::Sub": imported}}, Parameters={"X": {"Type": "String"}})
    assert value_in(read_two(tmp_path, template(1, Outputs=outputs), service)) is UNKNOWN


@pytest.mark.parametrize("kind", ["${AWS::StackName}:%d", "all:%d", "%d:${AWS::StackName}"])
def test_thousands_of_imports_from_thousands_of_exports_take_no_time(tmp_path: Path, kind: str) -> None:
    size = 4000
    names = [{"Fn::Sub": kind % index} for index in range(size)]
    outputs = {f"O{index}": {"Value": index, "Export": {"Name": name}} for index, name in enumerate(names)}
    imported = [{"Fn::ImportValue": {"Fn::Sub": f"${{X}}:{index}"}} for index in range(size)]
    service = template(imported, Parameters={"X": {"Type": "String"}})
    values: list[object] = []
    assert paces(lambda: values.extend(value_in(read_two(tmp_path, template(1, Outputs=outputs), service)))) < 75
    assert values == [UNKNOWN if kind.startswith("%d") else index for index in range(size)]


def test_an_output_whose_condition_is_false_is_not_exported(tmp_path: Path) -> None:
    network = exporting("x")
    network["Conditions"] = {"Never": {"Fn::Equals": ["a", "b"]}}
    network["Outputs"]["Cluster"]["Condition"] = "Never"
    assert value_in(read_two(tmp_path, network, template({"Fn::ImportValue": "network:Cluster"}))) is UNKNOWN


def nesting(url: Any, value: Any = 1, **parameters: Any) -> dict[str, Any]:
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url, "Parameters": parameters}}
    return template(value, Resources={"Nested": nested})


def test_a_nested_stack_is_read_with_what_it_is_given(tmp_path: Path) -> None:
    parameters = {
        "Cluster": {"Type": "String"},
        "Count": {"Type": "Number"},
        "Own": {"Type": "String", "Default": "own"},
    }
    inner = template([{"Ref": "Cluster"}, {"Ref": "Count"}, {"Ref": "Own"}], Parameters=parameters)
    save(tmp_path / "below" / "nested.json", inner)
    outer = save(tmp_path / "outer.json", nesting("./below/nested.json", Cluster={"Ref": "Other"}, Count="3"))
    stacks = read_stacks([outer], region="eu-west-1")
    assert [each.name for each in stacks.stacks] == ["outer", "outer/Nested"]
    assert value_in(stacks, "outer/Nested") == [Reference("outer", "Other"), 3, "own"]
    assert stack(stacks, "outer/Nested").region == "eu-west-1"
    assert resource(stacks, "outer/Nested", "Service").origin.file == str(tmp_path / "below" / "nested.json")


def test_a_list_that_is_handed_down_as_a_text_is_a_list_again(tmp_path: Path) -> None:
    inner = template({"Ref": "Names"}, Parameters={"Names": {"Type": "CommaDelimitedList"}})
    save(tmp_path / "nested.json", inner)
    names = {"Fn::Join": [",", [{"Ref": "Other"}, "b"]]}
    stacks = read_stacks([save(tmp_path / "outer.json", nesting("nested.json", Names=names))])
    assert value_in(stacks, "outer/Nested") == [Reference("outer", "Other"), "b"]


def test_an_output_that_a_nested_stack_does_not_have_is_unknown(tmp_path: Path) -> None:
    save(tmp_path / "nested.json", template(1))
    outer = save(tmp_path / "outer.json", nesting("nested.json", {"Fn::Sub": "a${Nested.Outputs.Cluster}"}))
    assert value_in(read_stacks([outer]), "outer") == Text(("a", UNKNOWN))


@pytest.mark.parametrize("url", ["missing.json", "../nested.json", 5])
def test_a_nested_stack_that_is_not_beside_its_template_is_said(tmp_path: Path, url: Any) -> None:
    save(tmp_path / "nested.json", template(1))
    stacks = read_stacks([save(tmp_path / "folder" / "outer.json", nesting(url))])
    assert not_read(stacks) == ["the template of nested stack 'Nested' is not among the files"]
    assert len(stacks.stacks) == 1


def test_a_nested_template_that_is_broken_is_named(tmp_path: Path) -> None:
    save(tmp_path / "nested.json", "{")
    with pytest.raises(UnreadableError, match="nested.json:1:2: not JSON"):
        read_stacks([save(tmp_path / "outer.json", nesting("nested.json"))])


def test_a_template_that_nests_itself_comes_to_an_end(tmp_path: Path) -> None:
    outer = save(tmp_path / "outer.json", nesting("outer.json", Value={"Ref": "Other"}))
    stacks = read_stacks([outer])
    assert len(stacks.stacks) == 11
    assert not_read(stacks) == ["the template of nested stack 'Nested' is not among the files"]


def test_a_template_that_nests_itself_many_times_is_refused(tmp_path: Path) -> None:
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "outer.json"}}
    outer = save(tmp_path / "outer.json", template(1, Resources={f"Nested{index}": nested for index in range(5)}))
    with pytest.raises(UnreadableError, match="more than 1,000 stacks"):
        read_stacks([outer])


def test_a_nested_stack_whose_condition_is_false_is_not_read(tmp_path: Path) -> None:
    outer = nesting("missing.json")
    outer["Resources"]["Nested"]["Condition"] = "Never"
    outer["Conditions"] = {"Never": {"Fn::Equals": ["a", "b"]}}
    assert read_stacks([save(tmp_path / "outer.json", outer)]).remarks == ()


def test_two_stacks_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    first = save(tmp_path / "a" / "web.json", template("a"))
    second = save(tmp_path / "b" / "web.template.yaml", "Resources: {Service: {Type: 'AWS::ECS::Service'}}")
    assert [each.name for each in read_stacks([first, second]).stacks] == ["web", f"web ({second})"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = save(tmp_path / "web.json", template({"Ref": "Other"}))
    assert in_service(read_stacks([path, path, tmp_path / "." / "web.json"])) == Reference("web", "Other")


def test_a_nested_template_that_is_named_too_is_read_where_it_is_nested(tmp_path: Path) -> None:
    declaration = {"Type": "String", "Default": "a", "AllowedValues": ["a", "b"]}
    inner = save(tmp_path / "inner.json", template({"Ref": "Name"}, Parameters={"Name": declaration}))
    outer = save(tmp_path / "outer.json", nesting("inner.json", Name="b"))
    for paths in ([inner, outer], [outer, inner]):
        stacks = read_stacks(paths)
        assert [each.name for each in stacks.stacks] == ["outer", "outer/Nested"]
        assert value_in(stacks, "outer/Nested") == "b"
        assert stacks.choices == ()


def test_of_two_templates_that_nest_each_other_one_is_left(tmp_path: Path) -> None:
    paths = [save(tmp_path / f"{one}.json", nesting(f"{other}.json")) for one, other in (("a", "b"), ("b", "a"))]
    assert {each.name.partition("/")[0] for each in read_stacks(paths).stacks} == {"b"}

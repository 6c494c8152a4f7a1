"""``Fn::ForEach`` is written out where its list is known, and said where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.model import Reference, UnreadableError
from tests.template.written import in_service, not_read, only_stack, read, worked_out


def cluster(name: str) -> dict[str, Any]:
    return {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": name}}


def test_resources_are_written_out() -> None:
    loop = ["Name", ["L4", "H100"], {"Cluster${Name}": cluster("gpu-${Name}")}]
    stacks = read({"Ref": "ClusterH100"}, Resources={"Fn::ForEach::Clusters": loop})
    found = only_stack(stacks).resources
    assert found["ClusterL4"].properties == {"ClusterName": "gpu-L4"}
    assert in_service(stacks) == Reference("template", "ClusterH100")
    assert stacks.remarks == ()


def test_the_name_stands_for_the_item_in_references_and_texts() -> None:
    body = {"${Name}": [{"Ref": "Name"}, {"Fn::Sub": "${Name}!"}, "${Names}"]}
    assert worked_out({"Fn::ForEach::It": ["Name", ["a"], body]}) == {"a": ["a", "a!", "${Names}"]}


def test_letters_of_an_item_can_make_a_name() -> None:
    assert worked_out({"Fn::ForEach::It": ["Name", ["10.0.0.0/8"], {"Range&{Name}": "${Name}"}]}) == {
        "Range100008": "10.0.0.0/8"
    }


def test_loops_may_be_in_loops() -> None:
    inner = {"Fn::ForEach::Inner": ["B", ["1", "2"], {"${A}${B}": "${B}${A}"}]}
    assert worked_out({"Fn::ForEach::Outer": ["A", ["x", "y"], inner]}) == {
        "x1": "1x",
        "x2": "2x",
        "y1": "1y",
        "y2": "2y",
    }


def test_a_list_can_come_from_a_parameter() -> None:
    loop = {"Fn::ForEach::It": ["Name", {"Ref": "Names"}, {"${Name}": 1}]}
    parameters = {"Names": {"Type": "CommaDelimitedList", "Default": "a,b"}}
    assert worked_out(loop, Parameters=parameters) == {"a": 1, "b": 1}


def test_a_list_of_the_deploy_is_said() -> None:
    loop = {"Fn::ForEach::It": ["Name", {"Ref": "Names"}, {"${Name}": 1}]}
    stacks = read(loop, Parameters={"Names": {"Type": "CommaDelimitedList"}})
    assert not_read(stacks) == ["Fn::ForEach::It goes over a list that is only known at deploy time"]


def test_a_loop_that_is_none_is_said() -> None:
    assert not_read(read({"Fn::ForEach::It": "text"})) == ["Fn::ForEach::It takes a name, a list and an object"]


def test_loops_that_multiply_come_to_an_end() -> None:
    body: Any = {"${A}${B}${C}${D}": "x"}
    for name in "ABCD":
        body = {f"Fn::ForEach::{name}": [name, [f"{name}{index}" for index in range(100)], body]}
    assert not_read(read(body))


def nested_loops(times: int, entry: Any) -> dict[str, Any]:
    items = [str(index) for index in range(times)]
    inner = {"Fn::ForEach::B": ["B", items, {"Queue${A}x${B}": entry}]}
    return {"Fn::ForEach::A": ["A", items, inner]}


@pytest.mark.parametrize("section", ["Resources", "Conditions", "Outputs"])
def test_loops_that_make_more_than_a_stack_may_have_are_refused(section: str) -> None:
    sections: Any = {section: nested_loops(300, {"Type": "AWS::SQS::Queue"})}
    with pytest.raises(UnreadableError, match=f"more than 5,000 entries that loops make in {section}"):
        read(1, **sections)


def test_loops_side_by_side_are_counted_together() -> None:
    items = [str(index) for index in range(3000)]
    loops = {f"Fn::ForEach::{each}": ["A", items, {each + "${A}": {"Type": "AWS::SQS::Queue"}}] for each in "XY"}
    with pytest.raises(UnreadableError, match="more than 5,000 entries"):
        read(1, Resources=loops)


def test_loops_may_make_more_than_cloudformation_takes() -> None:
    stacks = read(1, Resources=nested_loops(40, {"Type": "AWS::SQS::Queue"}))
    assert len(only_stack(stacks).resources) > 1600


def test_loops_that_make_too_much_of_one_value_leave_it_unknown() -> None:
    stacks = read({"Few": nested_loops(3, 1), "Many": nested_loops(300, 1)})
    value: Any = in_service(stacks)
    assert (len(value["Few"]), value["Many"]) == (9, UNKNOWN)
    assert not_read(stacks)


def test_a_condition_can_be_made_by_a_loop() -> None:
    loop = ["Name", ["A"], {"Is${Name}": {"Fn::Equals": [{"Ref": "Asked"}, "${Name}"]}}]
    stacks = read(
        {"Fn::If": ["IsA", 1, 2]},
        Conditions={"Fn::ForEach::It": loop},
        Parameters={"Asked": {"Type": "String"}},
    )
    assert in_service(stacks) is UNKNOWN
    assert stacks.remarks == ()

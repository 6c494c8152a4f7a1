"""What AWS refuses when a template is deployed over another, and which two deploys do it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from gpu_constructs.check.planning.update_table import BALANCER, MAY_REPLACE_SERVICE, REPLACED_BY, SERVICE, UNIQUE
from gpu_constructs.check.planning.updates import Update, update_of
from gpu_constructs.template import Inputs

Resources = Mapping[str, Any]
LISTENER = "AWS::ElasticLoadBalancingV2::Listener"


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def provider(group: str = "Group", **properties: Any) -> Resources:
    arn = {"AutoScalingGroupProvider": {"AutoScalingGroupArn": ref(group)}}
    return {"Type": "AWS::ECS::CapacityProvider", "Properties": {**arn, **properties}}


def service(*providers: Any, **properties: Any) -> Resources:
    strategy = [{"CapacityProvider": each} for each in providers]
    more = {"CapacityProviderStrategy": strategy} if providers else {}
    return {"Type": "AWS::ECS::Service", "Properties": {"Cluster": ref("Cluster"), **more, **properties}}


def providers_of(*providers: Any, default: Any = None) -> Resources:
    strategy = {} if default is None else {"DefaultCapacityProviderStrategy": [{"CapacityProvider": default}]}
    properties = {"Cluster": ref("Cluster"), "CapacityProviders": list(providers), **strategy}
    return {"Type": "AWS::ECS::ClusterCapacityProviderAssociations", "Properties": properties}


CLUSTER = {"Cluster": {"Type": "AWS::ECS::Cluster"}, "Group": {"Type": "AWS::AutoScaling::AutoScalingGroup"}}
OTHER_GROUP = {"Other": {"Type": "AWS::AutoScaling::AutoScalingGroup"}}
ON_OLD = {"Old": provider(), "List": providers_of(ref("Old")), "Chat": service(ref("Old"))}
ON_NEW = {"New": provider("Other"), "List": providers_of(ref("New")), "Chat": service(ref("New"))}
BOTH = {"Old": provider(), "New": provider("Other"), "List": providers_of(ref("Old"), ref("New"))}
DEFAULT = {"Old": provider(), "List": providers_of(ref("Old"), default=ref("Old")), "Chat": service()}


def behind(balancer: str = "a", **priorities: object) -> Resources:
    """Rules of the listener of a load balancer."""
    return {
        "Balancer": {"Type": BALANCER, "Properties": {"Name": balancer}},
        "Listener": {"Type": LISTENER, "Properties": {"LoadBalancerArn": ref("Balancer")}},
        **{
            name: {"Type": f"{LISTENER}Rule", "Properties": {"ListenerArn": ref("Listener"), "Priority": each}}
            for name, each in priorities.items()
        },
    }


def update(old: Resources, new: Resources) -> Update:
    both = [{"Resources": {**CLUSTER, **OTHER_GROUP, **each}} for each in (old, new)]
    before, after = (Inputs([each]).stacks() for each in both)
    return update_of(before, after)


@pytest.mark.parametrize(
    ("old", "new", "change", "answer"),
    [
        (ON_OLD, ON_NEW, "capacity provider Old leaves its cluster, and Chat uses it", "in use"),
        (DEFAULT, ON_NEW, "capacity provider Old leaves its cluster, and Chat uses it", "in use"),
        (
            {"List": providers_of("spot"), "A": service("spot"), "B": service("spot")},
            {"List": providers_of("FARGATE")},
            "capacity provider spot leaves its cluster, and A and B use it",
            "in use",
        ),
        (
            ON_OLD,
            {**ON_OLD, "Old": provider(Name="l4")},
            "Old is replaced, and the new one takes its Auto Scaling group",
            "already being used by another capacity provider",
        ),
        (
            {"Old": service(ServiceName="chat")},
            {"New": service(ServiceName="chat")},
            "New takes the name 'chat' from Old, which goes; the old one is deleted last",
            "already exists",
        ),
        (behind(Old=10), behind(New="10"), "New takes the priority '10' from Old, which goes", "is currently in use"),
    ],
)
def test_what_is_refused_has_two_deploys(old: Resources, new: Resources, change: str, answer: str) -> None:
    (found,) = update(old, new).refused
    assert found.change.startswith(change)
    assert answer in found.answer
    assert update(new, new) == Update(refused=(), replaced=())


@pytest.mark.parametrize(("names", "verb"), [(("A", "B"), "deleted"), (("A", "A"), "updated")])
def test_a_capacity_that_another_stack_imports_is_refused_for_its_export(
    names: tuple[str, str], verb: str, tmp_path: Path
) -> None:
    sides = []
    for (provided, group), name in zip((("Old", "Group"), ("New", "Other")), names, strict=True):
        resources = {**CLUSTER, **OTHER_GROUP, provided: provider(group), "List": providers_of(ref(provided))}
        export = {"Value": ref(provided), "Export": {"Name": name}}
        base = {"Resources": resources, "Outputs": {"Of": export}}
        (tmp_path / "base.json").write_text(json.dumps(base))
        (tmp_path / "top.json").write_text(json.dumps({"Resources": {"Chat": service({"Fn::ImportValue": name})}}))
        sides.append(Inputs([tmp_path / "base.json", tmp_path / "top.json"]).stacks())
    (found,) = update_of(sides[0], sides[1]).refused
    assert found.answer.startswith(f"Export … cannot be {verb} as it is in use by top")


def test_a_cluster_that_another_stack_imports_is_refused_for_its_export(tmp_path: Path) -> None:
    """CloudFormation looks at the export before it replaces the service."""
    chat = {"Type": SERVICE, "Properties": {"Cluster": {"Fn::ImportValue": "Of"}}}
    (tmp_path / "top.json").write_text(json.dumps({"Resources": {"Chat": chat}}))
    sides = []
    for name in ("a", "b"):
        cluster = {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": name}}
        base = {
            "Resources": {"Cluster": cluster},
            "Outputs": {"Of": {"Value": ref("Cluster"), "Export": {"Name": "Of"}}},
        }
        (tmp_path / "base.json").write_text(json.dumps(base))
        sides.append(Inputs([tmp_path / "base.json", tmp_path / "top.json"]).stacks())
    found = update_of(sides[0], sides[1])
    assert [each.change for each in found.refused] == ["base/Cluster is replaced, and top/Chat imports it until then"]
    assert found.refused[0].answer == "Export … cannot be updated as it is in use by top"
    assert (found.replaced, update_of(sides[0], sides[0]).refused) == ((), ())


def test_a_stack_that_leaves_the_files_stays(tmp_path: Path) -> None:
    sides = []
    for name in ("top", "next"):
        (tmp_path / "base.json").write_text(json.dumps({"Resources": CLUSTER}))
        (tmp_path / f"{name}.json").write_text(json.dumps({"Resources": {**CLUSTER, "Chat": service("spot")}}))
        sides.append(Inputs([tmp_path / "base.json", tmp_path / f"{name}.json"]).stacks())
    before, after = sides
    (left,) = update_of(before, after).left
    assert left.startswith("top is in the old files alone, and no deploy deletes it: what it runs and costs goes on")
    assert update_of(before, before).left == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(ON_OLD, {**BOTH, "Chat": service(ref("New"))}, id="the first deploy of a move"),
        pytest.param({**BOTH, "Chat": service(ref("New"))}, ON_NEW, id="the second deploy of a move"),
        pytest.param(ON_OLD, {}, id="a cluster without capacity providers"),
        pytest.param(ON_OLD, {**ON_NEW, "List": providers_of({"Fn::ImportValue": "L"})}, id="an unknown list"),
        pytest.param({"Old": service()}, {"New": service()}, id="a name of CloudFormation's"),
        pytest.param(behind(Old=10), behind(New=11), id="another priority"),
        pytest.param(behind(Old=10), behind("b", New=10), id="a priority on another listener"),
        pytest.param(behind(Old=10), behind(Old=11, New=10), id="a priority that its rule may have left"),
        pytest.param(
            behind(A=10, B=20), behind(A=20, B=10), id="priorities that rules swap, of which no refusal is known"
        ),
    ],
)
def test_what_may_work_is_not_refused(old: Resources, new: Resources) -> None:
    assert update(old, new).refused == ()


@pytest.mark.parametrize(
    ("others", "more", "stays"),
    [
        ({}, {}, True),
        ({}, {"DesiredCount": 3}, True),
        ({}, {"ForceNewDeployment": {"EnableForceNewDeployment": True, "ForceNewDeploymentNonce": "1"}}, False),
        ({}, {"PlatformVersion": "LATEST"}, False),
        ({"Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": {"Family": "b"}}}, {}, False),
        ({}, {"ServiceName": "b"}, False),
    ],
)
def test_a_changed_strategy_alone_moves_no_task(others: Resources, more: Mapping[str, Any], stays: bool) -> None:
    there = {**BOTH, "Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": {"Family": "a"}}}
    task = {"TaskDefinition": ref("Task"), "ServiceName": "a"}
    old = {**there, "Chat": service(ref("Old"), **task)}
    found = update(old, {**there, **others, "Chat": service(ref("New"), **{**task, **more})})
    assert [each.startswith("the tasks of Chat that run stay") for each in found.staying] == [True] * stays


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            {},
            {"Cluster": ref("Other")},
            "Chat is replaced, since Cluster changes: all copies of the old and the new one run at once",
        ),
        (
            {"ServiceName": "a", "SchedulingStrategy": "REPLICA"},
            {"ServiceName": "b"},
            "Chat is replaced, since ServiceName and SchedulingStrategy change: all copies",
        ),
        (
            {"DeploymentController": {"Type": "ECS"}},
            {},
            "Chat may be replaced, since DeploymentController.Type changes: all copies",
        ),
        (
            {"LaunchType": "EC2", "DesiredCount": 2},
            {"DesiredCount": 3},
            "Chat may be replaced, since LaunchType changes: all copies of the old and the new one (2 and 3) run",
        ),
    ],
)
def test_a_service_that_is_replaced_is_named(old: Resources, new: Resources, said: str) -> None:
    found = update({"Chat": service(**old)}, {"Chat": service(**new)})
    (replaced,) = found.replaced
    assert replaced.startswith(said)
    assert found.refused == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            {},
            {"Front": {}},
            ["load balancer Front is new, beside what there was: clients and records need its"],
        ),
        ({"Front": {}}, {"Front": {"Scheme": "internet-facing"}}, ["Front is new, in place of Front, whose DNS name"]),
        (
            {"Front": {}},
            {"Other": {}},
            ["load balancer Other is new, in place of Front, whose DNS name and listeners go"],
        ),
        ({"Front": {}}, {"Front": {"IpAddressType": "dualstack"}}, []),
    ],
)
def test_a_new_load_balancer_has_another_url(old: Resources, new: Resources, said: list[str]) -> None:
    sides = [{name: {"Type": BALANCER, "Properties": of} for name, of in side.items()} for side in (old, new)]
    told = update(*sides).balancers
    assert [part in each for part, each in zip(said, told, strict=True)] == [True] * len(said)


def test_what_is_replaced_is_what_the_schemas_say() -> None:
    for kind, paths in REPLACED_BY.items():
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
        written = {each.removeprefix("/properties/").replace("/", ".") for each in schema["createOnlyProperties"]}
        assert written >= {*paths}, kind
    assert {each.type for each in UNIQUE} <= REPLACED_BY.keys()
    assert not {*MAY_REPLACE_SERVICE} & {*REPLACED_BY[SERVICE]}

"""Room for the copies of one workload: on its hosts, on different hosts, on ports, and while it is deployed to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    PlacementConstraint,
    Pool,
    ResourceRequirement,
    ServiceScaling,
    StrategyItem,
    Task,
    Unknown,
    Workload,
)
from gpu_constructs.rules import Finding, Severity, rules_of
from gpu_constructs.rules.fit import copies_fit, deployments
from tests.rules.changed import changed, severities
from tests.rules.given import a_pool, a_task, fleet_of, on_strategy, only, said

MAY_FIT = ("awsvpcTrunking", "weights in proportion", "the ECS agent reserves")
"""Words of what a setting that no file shows, or another split, makes room for."""

DISTINCT = (PlacementConstraint(type="distinctInstance"),)


def pool(*types: str, most: int | Unknown = 2, **changes: Any) -> Pool:
    """Hosts of 4 GPUs, 48 vCPU and 192 GiB, if nothing else is said."""
    return a_pool(*(types or ("g6.12xlarge",)), **{"name": "L4", "max_instances": most, **changes})


def task(gpus: int = 1, *, gib: float = 4, ports: tuple[int, ...] = (), mode: str | Unknown = "bridge") -> Task:
    requirements = (ResourceRequirement.gpus(gpus),) if gpus else ()
    containers = [
        Container(name=f"c{index}", host_ports=((port, "tcp"),) if port else ())
        for index, port in enumerate(ports[1:], 1)
    ]
    main = Container(
        name="c0",
        requirements=requirements,
        cpu=1024,
        memory_limit_mib=int(gib * 1024),
        host_ports=((ports[0], "tcp"),) if ports else (),
    )
    return Task(name="chat", containers=(main, *containers), network_mode=mode)


def service(
    of: Task,
    *pools: Pool,
    copies: int | Unknown = 1,
    weights: tuple[int, ...] = (),
    low: int | Unknown | None = None,
    **changes: Any,
) -> Workload:
    strategy = tuple(
        StrategyItem(provider=each.name, pool=each, weight=weight)
        for each, weight in zip(pools, weights or (1,) * len(pools), strict=True)
    )
    return Workload(
        **{
            "name": "service",
            "task": of,
            "strategy": strategy,
            "desired_count": copies,
            "min_healthy_percent": low,
            **changes,
        }
    )


def found(workload: Workload) -> list[Finding]:
    rules = (*rules_of(copies_fit), *rules_of(deployments))
    return said(rules, fleet_of(workloads=(workload,)))


TWICE = replace(task(), containers=(Container(name="c0", host_ports=((8080, "tcp"),) * 2),))


@pytest.mark.parametrize(
    ("workload", "rule", "words"),
    [
        pytest.param(
            service(task(4), pool(), pool(name="B", most=6), copies=6, low=0),
            "GPU009",
            ["gives 3 of 6 tasks to L4, which holds 2", "does not move them", "weights in proportion"],
            id="weights send too many to one provider",
        ),
        pytest.param(
            service(task(4), pool(most=1)),
            "GPU010",
            ["1 task runs, 1 fits at MaxSize", "need 8 GPUs, and the hosts have 4", "a MinimumHealthyPercent of 0"],
            id="the only copy on the only host",
        ),
        pytest.param(
            service(task(gib=46), pool(), copies=7, low=0),
            "GPU012",
            ["hold 6 to 8 of the 7 copies", "register too little memory"],
            id="memory near the nominal size",
        ),
        pytest.param(
            service(task(), pool("g6.12xlarge", "g6.48xlarge", managed_scaling=False), copies=9, low=0),
            "GPU012",
            ["L4 may launch types of different sizes", "hold 8 to 16 of the 9 copies"],
            id="types of different sizes",
        ),
        pytest.param(
            service(task(mode=UNKNOWN), pool("g5.48xlarge"), copies=14, low=0),
            "GPU012",
            ["the network mode is only known at deploy time"],
            id="a network mode of the deploy",
        ),
        pytest.param(
            service(task(mode="awsvpc"), pool("g5.48xlarge"), copies=14, low=0),
            "GPU009",
            ["L4 holds 12 at MaxSize (each takes a network interface", "awsvpcTrunking, or raise MaxSize"],
            id="more copies than network interfaces",
        ),
        pytest.param(
            service(task(0, mode="awsvpc"), pool("g4dn.xlarge"), copies=5, low=0),
            "GPU009",
            ["5 tasks are wanted, and L4 holds 4 at MaxSize: the others never start; raise MaxSize"],
            id="more copies than network interfaces, without ENI trunking",
        ),
        pytest.param(
            service(task(mode="awsvpc"), pool("g5.48xlarge"), copies=12),
            "GPU010",
            ["12 fit at MaxSize (each takes a network interface", "where awsvpcTrunking is on", "of 91, so that"],
            id="a fleet that is full of network interfaces",
        ),
        pytest.param(
            service(task(ports=(8080,)), pool(most=0), copies=3, low=0, constraints=DISTINCT),
            "GPU009",
            ["none of the 3 tasks have room: L4 holds 0 at MaxSize"],
            id="no hosts at all",
        ),
        pytest.param(
            service(task(2), pool(), copies=1, scaling=ServiceScaling(most=3), deployment_strategy="BLUE_GREEN"),
            "GPU010",
            ["asked for 3 tasks", "never ends: it runs them twice", "a MaxCapacity of 2"],
            id="a fleet that scaling fills with two versions",
        ),
        pytest.param(
            service(task(), pool(), copies=3, constraints=DISTINCT),
            "GPU083",
            ["3 tasks must run on different hosts", "L4 has 2 at most", "distinctInstance", "of L4 to 3"],
            id="more copies than different hosts",
        ),
        pytest.param(
            service(task(ports=(8080,)), pool(), copies=3),
            "GPU084",
            ["3 tasks take host port 8080/tcp", "L4 has 2 hosts at most", "dynamic host port"],
            id="more copies than hosts with the port",
        ),
        pytest.param(
            service(task(ports=(8080, 8080)), pool()),
            "GPU084",
            ["c0 and c1 of chat take host port 8080/tcp more than once", "another host port"],
            id="a port twice",
        ),
        pytest.param(
            service(task(ports=(8080, 8080), mode="host"), pool()),
            "GPU084",
            ["c0 and c1 of chat take host port 8080/tcp more than once"],
            id="a port twice in network mode host",
        ),
        pytest.param(
            service(TWICE, pool()), "GPU084", ["c0 of chat takes host port 8080/tcp more"], id="a port twice of one"
        ),
    ],
)
def test_what_has_no_room_is_said_with_the_numbers(workload: Workload, rule: str, words: list[str]) -> None:
    (finding,) = found(workload)
    text = f"{finding.message}; {finding.fix}"
    assert finding.rule == rule
    is_certain = rule in {"GPU009", "GPU083", "GPU084", "GPU086"} and not any(each in text for each in MAY_FIT)
    assert finding.severity is (Severity.ERROR if is_certain else Severity.WARNING)
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(service(task(4), pool(), copies=2, low=50), id="a full fleet that may stop one"),
        pytest.param(service(task(4), pool(), copies=1), id="a free slot"),
        pytest.param(service(task(4), pool(most=1), copies=1, low=0), id="the only copy may stop"),
        pytest.param(service(task(4), pool(), copies=2, low=UNKNOWN), id="percentages of the deploy"),
        pytest.param(service(task(4), pool(), pool(name="B", most=6), copies=6, weights=(1, 3), low=0), id="weights"),
        pytest.param(service(task(gib=46), pool(), copies=6, low=0), id="memory is enough for those that are wanted"),
        pytest.param(replace(service(task()), task=None), id="a task of elsewhere"),
    ],
)
def test_what_has_room_or_is_not_known_to_lack_it_is_silent(workload: Workload) -> None:
    assert found(workload) == []


@pytest.mark.parametrize(("is_whole", "severity"), [(True, Severity.ERROR), (False, Severity.WARNING)])
def test_with_a_launch_type_other_hosts_may_take_the_others(is_whole: bool, severity: Severity) -> None:
    by_type = replace(service(task(4), copies=3, low=0), launch_type="EC2")
    (finding,) = said(
        (*rules_of(copies_fit), *rules_of(deployments)), Fleet(pools=(pool(),), workloads=(by_type,), is_whole=is_whole)
    )
    assert (finding.rule, finding.severity) == ("GPU009", severity)


def test_a_provider_that_gets_no_tasks_makes_no_room() -> None:
    (finding,) = found(service(task(4), pool(), pool(name="Idle", most=9), copies=5, weights=(1, 0), low=0))
    assert (finding.rule, "5 tasks are wanted, and L4 holds 2" in finding.message) == ("GPU009", True)


@pytest.mark.parametrize(("copies", "fix"), [(3, "with ROLLING"), (4, "for twice as many")])
def test_rolling_is_a_way_out_only_where_there_is_room_for_its_first_step(copies: int, fix: str) -> None:
    (finding,) = found(service(task(2), pool(), copies=copies, deployment_strategy="BLUE_GREEN"))
    assert (finding.rule, finding.fix.endswith(fix)) == ("GPU203", True)


@pytest.mark.parametrize(
    ("copies", "base", "hosts", "severity", "words"),
    [
        (4, 3, 2, Severity.ERROR, "gives 3 of 4 tasks to First"),
        (3, 2, 1, Severity.WARNING, "if ECS does not count the base of a capacity provider with a weight of 0"),
        (3, 3, 3, Severity.WARNING, "if ECS counts the base of a capacity provider with a weight of 0"),
    ],
)
def test_a_base_without_a_weight_is_read_both_ways(
    copies: int, base: int, hosts: int, severity: Severity, words: str
) -> None:
    first, second = a_pool(name="First", max_instances=2), a_pool(name="Second", max_instances=hosts)
    fleet = on_strategy(a_task("1"), (first, 0, base), (second, 1, 0))
    (workload,) = fleet.workloads
    finding = only(rules_of(copies_fit), replace(fleet, workloads=(replace(workload, desired_count=copies),)))
    assert (finding.rule, finding.severity) == ("GPU009", severity)
    assert words in finding.message


@pytest.mark.parametrize(
    ("group", "size", "severity"),
    [
        ("Hosts", 0, "error"),
        ("Hosts", 1, "error"),
        ("Hosts", 8, "warning"),
        ("Hosts", {"Ref": "AWS::NoValue"}, "error"),
        ("Hosts", {"Fn::ImportValue": "Most"}, "warning"),
        ("Others", 8, "error"),
        ("elsewhere", 8, "warning"),
    ],
)
def test_a_scheduled_action_of_their_group_may_bring_the_hosts(group: str, size: Any, severity: str) -> None:
    sizes = {"AutoScalingGroupName": {"Ref": group}, "DesiredCapacity": 0, "MaxSize": size}
    action = {"Type": "AWS::AutoScaling::ScheduledAction", "Properties": sizes}
    others = {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MinSize": 0, "MaxSize": 1}}
    found = severities("GPU009", {"Hosts": {"MaxSize": 1}}, Morning=action, Others=others)
    assert found == [severity]


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("AWS::Scheduler::Schedule", {"Target": {"Arn": ":::aws-sdk:autoscaling:updateAutoScalingGroup"}}),
        ("Custom::AWS", {"Create": '{"service":"AutoScaling","action":"updateAutoScalingGroup"}'}),
        ("AWS::IAM::Policy", {"PolicyDocument": {"Statement": [{"Action": "autoscaling:Update*", "Resource": "*"}]}}),
    ],
)
def test_whoever_may_call_auto_scaling_may_bring_the_hosts(kind: str, properties: dict[str, Any]) -> None:
    caller = {"Type": kind, "Properties": properties}
    assert severities("GPU009", {"Hosts": {"MaxSize": 1}}, Caller=caller) == ["warning"]


def test_a_stack_that_is_told_of_their_group_may_bring_the_hosts() -> None:
    assert [each.severity.value for each in changed("GPU009", exported="Hosts")] == ["warning"]

"""Routes, endpoints and file systems of a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.rules.catalogue import one_of
from gpu_constructs.template.terraform.kinds import _arguments
from tests.template.terraform.module_plans import configured, planned, refers
from tests.template.terraform.test_forms import HOSTS, TASK, change, simple

VPC, SUBNET, TABLE = "aws_vpc.main", "aws_subnet.private", "aws_route_table.private"
TO_SUBNET = configured(
    "aws_route_table_association.private",
    {"subnet_id": refers(f"{SUBNET}.id", SUBNET), "route_table_id": refers(f"{TABLE}.id", TABLE)},
)
ROUTED = {"route_table_id": refers(f"{TABLE}.id", TABLE)}


def network(*more: dict[str, Any], expressions: tuple[dict[str, Any], ...] = (), **of_table: Any) -> dict[str, Any]:
    written = simple(gpus=1)
    group = change(written, "aws_autoscaling_group.gpu")["change"]
    group["after_unknown"]["vpc_zone_identifier"] = True
    written["resource_changes"] += [
        planned(VPC, {"cidr_block": "10.0.0.0/16"}),
        planned(SUBNET, {"map_public_ip_on_launch": False}, vpc_id=True),
        planned(TABLE, of_table, vpc_id=True, **({} if of_table else {"route": True})),
        planned("aws_route_table_association.private", {}, subnet_id=True, route_table_id=True),
        *more,
    ]
    resources = written["configuration"]["root_module"]["resources"]
    hosts = next(each for each in resources if each["address"] == "aws_autoscaling_group.gpu")
    hosts["expressions"]["vpc_zone_identifier"] = refers(f"{SUBNET}.id", SUBNET)
    of_vpc = {"vpc_id": refers(f"{VPC}.id", VPC)}
    blocks = {"route": {"references": ["aws_nat_gateway.main.id"]}} if of_table else {}
    resources += [configured(VPC), configured(SUBNET, of_vpc), configured(TABLE, {**of_vpc, **blocks}), TO_SUBNET]
    resources += expressions
    return written


def found(written: dict[str, Any]) -> set[str]:
    return {each.rule for each in check_files([written]).findings}


def endpoint(service: str) -> tuple[dict[str, Any], dict[str, Any]]:
    address = f"aws_vpc_endpoint.{service}"
    made = planned(address, {"service_name": f"com.amazonaws.eu-west-1.{service}"}, vpc_id=True)
    return made, configured(address, {"vpc_id": refers(f"{VPC}.id", VPC)})


def test_hosts_in_subnets_without_a_way_out_do_not_reach_ecs() -> None:
    assert "GPU228" in found(network())


@pytest.mark.parametrize(
    ("planned_route", "expressions"),
    [
        (planned("aws_route.out", {"destination_cidr_block": "0.0.0.0/0"}, route_table_id=True), ROUTED),
        (planned("aws_route.of_any", {}, route_table_id=True), {"route_table_id": refers("local.table")}),
        (planned("aws_vpn_gateway_route_propagation.vpn", {}), {}),
    ],
)
def test_a_route_is_a_way_out_and_one_of_an_unknown_table_may_be(
    planned_route: dict[str, Any], expressions: dict[str, Any]
) -> None:
    route = configured(planned_route["address"], expressions)
    assert "GPU228" not in found(network(planned_route, expressions=(route,)))


def test_a_route_that_is_a_block_of_its_table_is_a_way_out() -> None:
    assert "GPU228" not in found(network(route=[{"cidr_block": "0.0.0.0/0", "gateway_id": ""}]))


def test_endpoints_are_a_way_to_ecs() -> None:
    made = [endpoint(each) for each in ("ecs", "ecs-agent", "ecs-telemetry")]
    all_of_them = network(*(each for each, _ in made), expressions=tuple(each for _, each in made))
    assert "GPU228" not in found(all_of_them)
    first, written = made[0]
    assert "GPU228" in found(network(first, expressions=(written,)))


def test_a_subnet_of_the_main_table_has_the_routes_that_another_resource_gives_that() -> None:
    written = network()
    keep = [each for each in written["resource_changes"] if "association" not in each["address"]]
    assert "GPU228" in found({**written, "resource_changes": keep})
    other = planned("aws_default_route_table.main", {"route": []})
    assert "GPU228" not in found({**written, "resource_changes": [*keep, other]})


def hosts_in_a_group(at: str, rule: dict[str, Any] | None, **of_group: Any) -> dict[str, Any]:
    """One task on hosts in a security group, with a rule that is a resource of its own."""
    written = simple(gpus=1)
    change(written, HOSTS)["change"]["after_unknown"]["vpc_security_group_ids"] = True
    resources = written["configuration"]["root_module"]["resources"]
    hosts = next(each for each in resources if each["address"] == HOSTS)
    hosts["expressions"]["vpc_security_group_ids"] = refers(f"{at}.id", at)
    written["resource_changes"].append(
        planned(at, {"name": "hosts", **of_group}, **({} if of_group else {"egress": True}))
    )
    resources.append(configured(at))
    if rule is not None:
        own = "aws_vpc_security_group_egress_rule.out"
        written["resource_changes"].append(planned(own, rule, security_group_id=True))
        resources.append(configured(own, {"security_group_id": refers(f"{at}.id", at)}))
    return written


@pytest.mark.parametrize(("port", "more", "is_closed"), [(80, 0, True), (80, 1, False), (443, 0, False), (0, 0, False)])
def test_endpoints_are_open_where_a_group_lets_hosts_in_or_a_dynamic_block_may(
    port: int, more: int, *, is_closed: bool
) -> None:
    others = [planned("aws_vpc_endpoint_security_group_association.more", {"security_group_id": "sg-1"})] * more
    group, rule = "aws_security_group.endpoints", {"from_port": port, "to_port": port, "protocol": "tcp"}
    inline: dict[str, Any] = {"ingress": [{**rule, "cidr_blocks": ["10.0.0.0/16"]}]} if port else {}
    pairs = [endpoint(each) for each in ("ecs", "ecs-agent", "ecs-telemetry")]
    for made, names in pairs:
        made["change"]["after_unknown"]["security_group_ids"] = True
        names["expressions"]["security_group_ids"] = refers(f"{group}.id", group)
    of_group = planned(group, inline, **({} if port else {"ingress": True}))
    written = network(
        *(each for each, _ in pairs), of_group, *others, expressions=(*(each for _, each in pairs), configured(group))
    )
    assert ("GPU228" in found(written)) is is_closed


OPEN = {"ip_protocol": "-1", "cidr_ipv4": "0.0.0.0/0"}
BY_LIST = {"ip_protocol": "tcp", "from_port": 443, "to_port": 443, "prefix_list_id": "pl-1"}


@pytest.mark.parametrize(
    ("rule", "of_group", "is_closed"),
    [
        (None, {}, True),
        (None, {"egress": []}, True),
        ({**OPEN, "ip_protocol": "tcp", "from_port": 5432, "to_port": 5432}, {}, True),
        (OPEN, {}, False),
        (BY_LIST, {}, False),
        (None, {"egress": [{"from_port": 0, "to_port": 0, "protocol": "-1", "cidr_blocks": ["0.0.0.0/0"]}]}, False),
        (None, {"egress": [{"from_port": 443, "to_port": 443, "protocol": "tcp", "prefix_list_ids": ["pl-1"]}]}, False),
    ],
)
def test_a_group_without_egress_lets_nothing_out(
    rule: dict[str, Any] | None, of_group: dict[str, Any], is_closed: bool
) -> None:
    written = hosts_in_a_group("aws_security_group.hosts", rule, **of_group)
    assert ("GPU277" in found(written)) is is_closed


@pytest.mark.parametrize(("of_group", "is_closed"), [({}, False), ({"egress": []}, True)])
def test_a_dynamic_block_of_a_module_may_write_egress(of_group: dict[str, Any], *, is_closed: bool) -> None:
    written = hosts_in_a_group("aws_security_group.hosts", None, **of_group)
    for each in written["resource_changes"]:
        each["address"] = f"module.all.{each['address']}"
    root = written["configuration"].pop("root_module")
    written["configuration"]["root_module"] = {"module_calls": {"all": {"module": root}}}
    assert ("GPU277" in found(written)) is is_closed


@pytest.mark.parametrize("line", ["   name = Name", "        name = Name", "name = Name", "\tname = Name"])
def test_a_line_of_the_table_is_in_a_block(line: str) -> None:
    with pytest.raises(ValueError, match="indented as in no block"):
        [*_arguments([line])]


def test_the_policy_and_the_mount_targets_of_a_file_system_are_resources_of_their_own() -> None:
    written = simple(gpus=1)
    system, policy = "aws_efs_file_system.data", "aws_efs_file_system_policy.data"
    closed = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::111122223333:role/app"},
        "Action": "elasticfilesystem:ClientMount",
        "Resource": "*",
    }
    task = change(written, TASK)["change"]
    task["after"]["volume"] = [{"name": "data", "efs_volume_configuration": [{"root_directory": "/"}]}]
    task["after_unknown"]["volume"] = [{"efs_volume_configuration": [{"file_system_id": True}]}]
    written["resource_changes"].append(planned(system, {"encrypted": True}))
    resources = written["configuration"]["root_module"]["resources"]
    of_task = next(each for each in resources if each["address"] == TASK)
    to_system = {"file_system_id": refers(f"{system}.id", system)}
    of_task["expressions"]["volume"] = [{"efs_volume_configuration": [to_system]}]
    resources += [configured(system), configured(policy, to_system)]
    group, target = "aws_security_group.data", "aws_efs_mount_target.data"
    resources += [configured(group), configured(target, {**to_system, "security_groups": refers(f"{group}.id", group)})]
    written["resource_changes"] += [
        planned(group, {"ingress": []}),
        planned(target, {"subnet_id": "subnet-1"}, file_system_id=True, security_groups=True),
    ]
    assert "GPU237" not in found(written)
    assert "GPU393" in found(written)
    written["resource_changes"].append(
        planned(policy, {"policy": json.dumps({"Statement": [closed]})}, file_system_id=True)
    )
    assert "GPU237" in found(written)


@pytest.mark.parametrize(
    "call",
    [
        {"expressions": {"place": {"constant_value": "eu-west-3"}}},
        {"expressions": {"place": {"references": ["var.outer"]}}},
        {"expressions": {}, "module": {"variables": {"place": {"default": "eu-west-3"}}}},
    ],
)
def test_a_provider_within_a_module_has_the_region_that_the_module_is_given(call: dict[str, Any]) -> None:
    written = simple()
    root = written["configuration"]["root_module"]
    for each in root["resources"]:
        each["provider_config_key"] = "module.inner:aws"
    region = {"references": ["var.place"]}
    provider = {"name": "aws", "module_address": "module.inner", "expressions": {"region": region}}
    written["configuration"]["provider_config"] = {"module.inner:aws": provider}
    root["module_calls"] = {"inner": call}
    written["variables"] = {"outer": {"value": "eu-west-3"}, "place": {"value": "us-west-2"}}
    assert {each.region for each in check_files([written], rules=()).fleet.pools} == {"eu-west-3"}


@pytest.mark.parametrize(("processes", "is_found"), [(["Launch"], True), (["AZRebalance"], False), (None, False)])
def test_a_group_whose_launches_are_suspended_starts_no_host(processes: Any, is_found: bool) -> None:
    written = simple(gpus=1)
    change(written, "aws_autoscaling_group.gpu")["change"]["after"]["suspended_processes"] = processes
    assert ("GPU110" in found(written)) is is_found


@pytest.mark.parametrize(("count", "spec", "is_found"), [(0, None, True), (1, None, False), (1, "RSA_2048", True)])
def test_a_key_lets_auto_scaling_in_by_a_grant_alone(count: int, spec: str | None, is_found: bool) -> None:
    grants = ("aws_kms_grant.hosts",) * count
    written = with_key(spec)
    written["resource_changes"] += [planned(each, {}, key_id=True) for each in grants]
    written["configuration"]["root_module"]["resources"] += [configured(each, {"key_id": OF_KEY}) for each in grants]
    assert ("GPU396" in found(written)) is is_found


KEY = "aws_kms_key.disks"
OF_KEY = refers(f"{KEY}.arn", KEY)
FUNCTION = "aws_lambda_function.grant"
RUNS = {"provisioners": [{"type": "local-exec", "expressions": {"command": OF_KEY}}]}
CALLS = {"type": "local-exec", "expressions": {"command": {"constant_value": "aws kms create-grant --key-id alias/a"}}}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, ["error"]),
        ({"aws_sns_topic.faults": {"expressions": {"kms_master_key_id": OF_KEY}}}, ["error"]),
        ({"null_resource.grant": {"expressions": {"triggers": OF_KEY}}}, []),
        ({"null_resource.grant": {"provisioners": [CALLS]}}, ["warning"]),
        ({"terraform_data.grant": {"expressions": {"input": OF_KEY}}}, []),
        ({"awscc_kms_alias.disks": {"expressions": {"target_key_id": OF_KEY}}}, []),
        ({"aws_ssm_parameter.key": {"expressions": {"value": OF_KEY}}}, []),
        ({"aws_ssm_parameter.any": RUNS}, []),
        ({FUNCTION: {"expressions": {"environment": [{"variables": OF_KEY}]}}}, ["error"]),
        (
            {
                FUNCTION: {"expressions": {"environment": [{"variables": OF_KEY}]}},
                "aws_lambda_invocation.grant": {"expressions": {"function_name": refers(f"{FUNCTION}.arn", FUNCTION)}},
            },
            [],
        ),
    ],
)
def test_what_is_given_a_key_may_add_a_grant(others: dict[str, Any], expected: list[str]) -> None:
    written = with_key(None)
    written["resource_changes"] += [planned(each, {}) for each in others]
    written["configuration"]["root_module"]["resources"] += [
        configured(address, **{"expressions": {}, **each}) for address, each in others.items()
    ]
    assert [each.severity for each in check_files([written], rules=one_of("GPU396")).findings] == expected


def test_an_output_of_the_root_module_hands_a_key_on() -> None:
    written = with_key(None)
    written["configuration"]["root_module"]["outputs"] = {"key": {"expression": OF_KEY}}
    assert [each.severity for each in check_files([written], rules=one_of("GPU396")).findings] == ["warning"]


def test_a_data_source_changes_nothing() -> None:
    written, address = with_key(None), "template_file.hosts"
    data = {"mode": "data", "address": f"data.{address}"}
    written["resource_changes"].append(planned(address, {}) | data)
    written["configuration"]["root_module"]["resources"].append(configured(address, {"vars": OF_KEY}) | data)
    assert "GPU396" in found(written)


def test_a_state_shows_what_is_given_a_key_by_its_arn() -> None:
    arn = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    written = with_key(None)
    change(written, KEY)["change"]["after"]["arn"] = arn
    written["resource_changes"].append(planned("terraform_data.grant", {"input": arn}))
    assert "GPU396" not in found(written)


def with_key(spec: str | None) -> dict[str, Any]:
    written, key, template = simple(gpus=1), KEY, "aws_launch_template.gpu"
    disk = {"device_name": "/dev/xvda", "ebs": [{"volume_size": 100, "encrypted": "true"}]}
    hosts = change(written, template)["change"]
    hosts["after"]["block_device_mappings"] = [disk]
    hosts["after_unknown"]["block_device_mappings"] = [{"ebs": [{"kms_key_id": True}]}]
    written["resource_changes"].append(planned(key, {"customer_master_key_spec": spec}))
    resources = written["configuration"]["root_module"]["resources"]
    of_hosts = next(each for each in resources if each["address"] == template)
    of_hosts["expressions"]["block_device_mappings"] = [{"ebs": [{"kms_key_id": OF_KEY}]}]
    resources.append(configured(key))
    return written

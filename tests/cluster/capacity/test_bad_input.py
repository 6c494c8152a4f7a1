"""What would reach the template as something else than its user wrote, or a host as a command, is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    CapacityChoice,
    GpuCluster,
    GpuMachineImage,
    HostScaling,
    InvalidValueError,
    Purchase,
    UnknownNameError,
    WarmHosts,
)
from tests.synthesis import Site

_TEXT = "${Token[TOKEN.1]}"
_OF_LIST = "#{Token[TOKEN.2]}"
_NUMBER = -1.8881545897087503e289


def _adds(**arguments: Any) -> Callable[[Site], object]:
    return lambda site: site.cluster.add_capacity(
        arguments.get("id", "Refused"),
        **{"instance_types": ["g6.xlarge"], "max_instances": 4, **{k: v for k, v in arguments.items() if k != "id"}},
    )


def _custom(device: Any) -> GpuMachineImage:
    return GpuMachineImage.custom(ec2.MachineImage.generic_linux({"us-east-1": "ami-0"}), image_device=device)


REFUSED: list[Any] = [
    pytest.param(_adds(max_instances=_TEXT), "max_instances", "value_as_number", id="text for a number"),
    pytest.param(lambda _: Purchase.spot(on_demand_base=cast("int", _TEXT)), "on_demand_base", "as_number", id="base"),
    pytest.param(
        lambda _: HostScaling(target_capacity_percent=cast("int", _TEXT)), "target_capacity_percent", "", id="target"
    ),
    pytest.param(lambda _: WarmHosts(hosts=cast("int", _TEXT)), "hosts", "as_number", id="warm hosts"),
    pytest.param(lambda site: site.l4.strategy(weight=cast("int", _TEXT)), "weight", "as_number", id="weight"),
    pytest.param(_adds(capacity_provider_name=_OF_LIST), "capacity_provider_name", "", id="a list for a name"),
    pytest.param(lambda _: Purchase.reservations(reservation_id=_OF_LIST), "reservation_id", "", id="a list for an id"),
    pytest.param(
        lambda _: Purchase.reservations(resource_group_arn=_OF_LIST), "resource_group_arn", "", id="a list for an ARN"
    ),
    pytest.param(
        lambda _: Purchase.reservations(resource_group_arn=cast("str", _NUMBER)),
        "resource_group_arn",
        "",
        id="a number for an ARN",
    ),
    pytest.param(
        lambda _: Purchase.reservations(reservation_id=cast("str", 10**5000)), "reservation_id", "very large", id="huge"
    ),
    pytest.param(
        _adds(instance_types=[_NUMBER], image=GpuMachineImage.pinned("al2023-gpu")),
        "instance_types",
        "",
        id="a number for a type",
    ),
    pytest.param(_adds(instance_types="g6.xlarge," * 99_999 + "g6.xlarge"), "instance_types", "…", id="a long text"),
    pytest.param(lambda _: _custom(""), "image_device", "/dev/xvda", id="a device without a name"),
    pytest.param(_adds(id=["Gpu"]), "construct_id", "PascalCase", id="a list for an id of a construct"),
    pytest.param(_adds(id=10**5000), "construct_id", "PascalCase", id="a huge number for one"),
    pytest.param(
        lambda site: site.cluster.add_fallback(
            cast("str", None),
            order=[CapacityChoice(each, instance_types=["g6.xlarge"], max_instances=1) for each in ("A", "B")],
        ),
        "construct_id",
        "got None",
        id="an order without an id",
    ),
]


@pytest.mark.parametrize("name", ["x; reboot", "$(reboot)", "x\nreboot", '"\n[settings.host-containers.admin]'])
def test_the_name_of_a_cluster_runs_nothing_on_a_host(site: Site, name: str) -> None:
    given = ecs.Cluster.from_cluster_attributes(site.stack, "Given", cluster_name=name, vpc=site.vpc)
    with pytest.raises(InvalidValueError, match="is not a name that ECS takes"):
        GpuCluster(site.stack, "Gpu", cluster=given)


@pytest.mark.parametrize(
    ("call", "argument", "nearest"),
    [
        (HostScaling, "target", "target_capacity_percent"),
        (Purchase.spot, "percentage", "on_demand_percentage"),
        (GpuMachineImage.custom, "driver", "driver_branch"),
    ],
)
def test_a_name_that_a_value_does_not_have_is_answered_with_the_nearest(call: Any, argument: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{argument}: {call.__qualname__} has no such argument") as refused:
        call(**{argument: 1})
    assert nearest in str(refused.value)

"""How a deploy replaces running hosts, out of templates."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, HostUpdate, UpdateMethod
from tests.template.resources.declared import only_pool


def _update(policy: Any, **properties: Any) -> HostUpdate | None:
    text = "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"
    data = {"InstanceType": "g6.xlarge", "UserData": text}
    resources = {
        "Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "Group": {
            "Type": "AWS::AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "4",
                "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}},
                **properties,
            },
            "UpdatePolicy": policy,
        },
    }
    return only_pool(resources).group.update


def _refresh(**fields: Any) -> HostUpdate:
    return HostUpdate(method=UpdateMethod.INSTANCE_REFRESH, **fields)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"AutoScalingReplacingUpdate": {"WillReplace": "false"}}, None),
        ({"AutoScalingInstanceRefresh": {"Strategy": "Rolling"}}, _refresh()),
        (
            {"AutoScalingRollingUpdate": {"MinInstancesInService": 2, "SuspendProcesses": ["AlarmNotification"]}},
            HostUpdate(method=UpdateMethod.ROLLING, min_in_service=2, suspended=("AlarmNotification",)),
        ),
    ],
)
def test_an_update_policy_is_read(policy: Any, expected: HostUpdate | None) -> None:
    assert _update(policy) == expected


def test_the_groups_own_policy_may_say_how_many_stay() -> None:
    own = {"InstanceMaintenancePolicy": {"MinHealthyPercentage": 90, "MaxHealthyPercentage": 100}}
    update = _update({"AutoScalingInstanceRefresh": {"Strategy": "Rolling"}}, **own)
    assert update == _refresh(min_healthy_percent=UNKNOWN, max_healthy_percent=UNKNOWN)

"""Who may mount a file system of EFS, read from its policy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.changed import severities

_ROLE = {"AWS": {"Fn::ImportValue": "Role"}}
_WRITE = "elasticfilesystem:ClientWrite"


def _statement(action: Any, principal: Any = "*", effect: Any = "Allow") -> dict[str, Any]:
    return {"Effect": effect, "Principal": principal, "Action": action}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"Statement": [_statement("elasticfilesystem:*", _ROLE)]}, ["warning"]),
        ({"Statement": [_statement("*", effect="Deny"), _statement(_WRITE)]}, ["warning"]),
        ({"Statement": [_statement("elasticfilesystem:Client*")]}, []),
        ({"Statement": [_statement("*", {"AWS": ["*"]})]}, []),
        ({"Fn::ImportValue": "Policy"}, []),
    ],
)
def test_a_policy_that_may_let_everyone_mount_is_fine(policy: Any, expected: list[str]) -> None:
    # The statement of the example is taken away, so that nothing of it is left in a policy.
    files = {"Type": "AWS::EFS::FileSystem", "Properties": {} if policy is None else {"FileSystemPolicy": policy}}
    assert severities("GPU237", Files=files) == expected


@pytest.mark.parametrize("multi_node", [False, True])
def test_a_job_of_aws_batch_mounts_it_likewise(*, multi_node: bool) -> None:
    container: dict[str, Any] = {
        "Image": "x",
        "ResourceRequirements": [{"Type": "GPU", "Value": "1"}],
        "Volumes": [{"Name": "models", "EfsVolumeConfiguration": {"FileSystemId": {"Ref": "Files"}}}],
    }
    ranges = {"NumNodes": 2, "NodeRangeProperties": [{"TargetNodes": "0:", "Container": container}]}
    of_job = {"NodeProperties": ranges} if multi_node else {"ContainerProperties": container}
    job = {"Type": "AWS::Batch::JobDefinition", "Properties": of_job}
    with_task: dict[str, Any] = {"Task": {"Volumes": []}}
    assert severities("GPU237", with_task, Job=job) == ["warning"]
    container["Volumes"][0]["EfsVolumeConfiguration"] |= {
        "AuthorizationConfig": {"Iam": "ENABLED"},
        "TransitEncryption": "ENABLED",
    }
    assert severities("GPU237", with_task, Job=job) == []

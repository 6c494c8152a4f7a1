"""Every kind of capacity in one stack: the guide's app, deployed, changed and destroyed on the emulator.

What is in it stands in ``docs/capacity.md``; here its reservations exist, its hosts start and its tasks run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from ecs_emulator.account import Account
from ecs_emulator.local import Local

from .cdk_cli import ROOT

GUIDE = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "capacity.md").read_text(), re.DOTALL))
STACK = "Gpu"

# By the ids of the guide: what somebody has reserved in the account before the app is deployed.
RESERVED = {
    "cr-0123456789abcdef0": {"InstanceType": "p5.48xlarge", "TotalInstanceCount": 2},
    "cr-0123456789abcdef1": {
        "InstanceType": "p5en.48xlarge",
        "TotalInstanceCount": 4,
        "ReservationType": "capacity-block",
        "StartDate": "2027-01-11T11:30:00Z",
        "EndDate": "2027-01-18T11:30:00Z",
    },
    "cr-0123456789abcdef2": {"InstanceType": "p5.48xlarge", "TotalInstanceCount": 2},
}
# The type that the page declares is newer than the emulator, too.
IN_THE_EMULATOR = ('"G8", instance_types=["g8.12xlarge"]', '"G8", instance_types=["g6e.12xlarge"]')


def _assembly(directory: Path, *changes: tuple[str, str]) -> Path:
    text = GUIDE
    for old, new in (("app = App()", f"app = App(outdir={str(directory)!r})"), ("app.synth()", ""), *changes):
        assert old in text
        text = text.replace(old, new)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "capacity.md", "exec"), names)  # noqa: S102 - it is our own
    cdk.CfnOutput(names["stack"], "ClusterName", value=names["cluster"].cluster.cluster_name)
    names["app"].synth()
    return directory


def _running(account: Account, cluster: str) -> Counter[str]:
    """Running tasks by the construct id of their definition."""
    for _ in range(5):
        account.hosts(cluster)
    ecs = account.client("ecs")
    arns = ecs.list_tasks(cluster=cluster)["taskArns"]
    tasks = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
    families = (each["taskDefinitionArn"].rpartition("/")[2] for each in tasks if each["lastStatus"] == "RUNNING")
    return Counter(re.sub(rf"{STACK}(\w+)[0-9A-F]{{8}}:\d+", r"\1", each) for each in families)


@pytest.mark.usefixtures("forget_declared_types")
def test_every_kind_of_capacity_comes_changes_and_goes_in_one_go(cloud: Local, tmp_path: Path) -> None:
    for name, what in RESERVED.items():
        cloud.switch(f"reservations/{name}", json.dumps({"AvailabilityZone": "us-east-1a", **what}))
    stack = cloud.deploy_assembly(_assembly(tmp_path / "made", IN_THE_EMULATOR), STACK)
    cluster = stack.outputs["ClusterName"]
    assert _running(cloud.account, cluster) == {"Train": 4, "Movable": 1}

    spot_everywhere = ("purchase=Purchase.spot(on_demand_base=1)", "purchase=Purchase.spot()")
    another_family = ('"Older", instance_types=["p4d.24xlarge"]', '"Older", instance_types=["p4de.24xlarge"]')
    changed = _assembly(tmp_path / "changed", IN_THE_EMULATOR, spot_everywhere, another_family)
    cloud.update(stack, json.loads((changed / f"{STACK}.template.json").read_text()))
    assert _running(cloud.account, cluster)["Train"] == 4

    cloud.destroy(stack)

"""Every kind of capacity in one stack: the guide's app, deployed, changed and destroyed by the real CDK command line.

What is in it stands in ``docs/capacity.md``; here its reservations exist, its hosts start and its tasks run.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from .account import Account
from .cdk_cli import Cdk
from .inventory import inventory
from .server import ROOT, Emulator

pytestmark = pytest.mark.e2e

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


@pytest.fixture
def reserved(account: Account) -> Iterator[None]:
    ssm = account.client("ssm")
    for name, what in RESERVED.items():
        value = json.dumps({"AvailabilityZone": "us-east-1a", **what})
        ssm.put_parameter(Name=f"/emulator/reservations/{name}", Value=value, Type="String")
    yield
    for name in RESERVED:
        ssm.delete_parameter(Name=f"/emulator/reservations/{name}")


def _running(account: Account, cluster: str) -> Counter[str]:
    """Running tasks by the construct id of their definition."""
    for _ in range(5):
        account.hosts(cluster)
    ecs = account.client("ecs")
    arns = ecs.list_tasks(cluster=cluster)["taskArns"]
    tasks = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
    families = (each["taskDefinitionArn"].rpartition("/")[2] for each in tasks if each["lastStatus"] == "RUNNING")
    return Counter(re.sub(rf"{STACK}(\w+)[0-9A-F]{{8}}:\d+", r"\1", each) for each in families)


@pytest.mark.xdist_group("story")
@pytest.mark.usefixtures("reserved")
def test_every_kind_of_capacity_comes_changes_and_goes_in_one_go(
    running: Emulator, account: Account, tmp_path: Path
) -> None:
    assert Cdk.is_installed(), "no `cdk` on the PATH; `make setup` installs it"
    command_line = Cdk(project=ROOT, work=tmp_path, environment=running.environment(os.environ))
    made = _assembly(tmp_path / "made")
    command_line.bootstrap(made)
    before = inventory(account.client)
    cluster = command_line.deploy(made, STACK)["ClusterName"]
    assert _running(account, cluster) == {"Train": 4, "Movable": 1}

    spot_everywhere = ("purchase=Purchase.spot(on_demand_base=1)", "purchase=Purchase.spot()")
    another_family = ('"Older", instance_types=["p4d.24xlarge"]', '"Older", instance_types=["p4de.24xlarge"]')
    changed = _assembly(tmp_path / "changed", spot_everywhere, another_family)
    assert command_line.differs(changed, STACK)
    command_line.deploy(changed, STACK)
    assert not command_line.differs(changed, STACK)
    assert _running(account, cluster)["Train"] == 4

    command_line.destroy(changed, STACK)
    assert inventory(account.client) == before

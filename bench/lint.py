"""What the rule pack adds to a run of cfn-lint.

``python -m bench.lint`` lints templates of GPU capacities with services, with cfn-lint alone and with the pack, in
turns in one process. All rules of the pack share one review of a template, so the added time is that of the review and
of asking each rule for its part.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

from cfnlint.api import ManualArgs, lint
from rich.console import Console
from rich.table import Table

__all__ = ["main", "template_of"]

PACK = "gpu_constructs.lint"
SIZES = (1, 20, 100)
RESOURCES_EACH = 5


def template_of(capacities: int) -> dict[str, Any]:
    """A template with so many capacities, each with a task and a service: five resources each, and a cluster.

    Args:
        capacities: How many; 99 come near the 500 resources of a stack.
    """
    resources: dict[str, Any] = {"Cluster": {"Type": "AWS::ECS::Cluster"}}
    for number in range(capacities):
        resources |= _capacity(number)
    return {"Resources": resources}


def _capacity(number: int) -> dict[str, Any]:
    launch, group, provider, task = (f"{part}{number}" for part in ("Launch", "Group", "Provider", "Task"))
    image = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu"
    release = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
    return {
        launch: _resource(
            "AWS::EC2::LaunchTemplate",
            LaunchTemplateData={
                "InstanceType": "g6.xlarge",
                "ImageId": f"{{{{resolve:ssm:{image}/{release}/image_id}}}}",
                "UserData": {
                    "Fn::Base64": {"Fn::Sub": "#!/bin/bash\necho ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config"}
                },
            },
        ),
        group: _resource(
            "AWS::AutoScaling::AutoScalingGroup",
            MinSize="0",
            MaxSize="4",
            AvailabilityZones={"Fn::GetAZs": ""},
            LaunchTemplate={
                "LaunchTemplateId": {"Ref": launch},
                "Version": {"Fn::GetAtt": [launch, "LatestVersionNumber"]},
            },
        ),
        provider: _resource(
            "AWS::ECS::CapacityProvider",
            AutoScalingGroupProvider={"AutoScalingGroupArn": {"Ref": group}, "ManagedScaling": {"Status": "ENABLED"}},
        ),
        task: _resource(
            "AWS::ECS::TaskDefinition",
            Family=f"task-{number}",
            RequiresCompatibilities=["EC2"],
            ContainerDefinitions=[
                {
                    "Name": "main",
                    "Image": "nvidia/cuda:12.8.1-base-ubuntu24.04",
                    "Memory": 8192,
                    "ResourceRequirements": [{"Type": "GPU", "Value": "1"}],
                }
            ],
        ),
        f"Service{number}": _resource(
            "AWS::ECS::Service",
            Cluster={"Ref": "Cluster"},
            TaskDefinition={"Ref": task},
            DesiredCount=1,
            CapacityProviderStrategy=[{"CapacityProvider": {"Ref": provider}, "Weight": 1}],
        ),
    }


def _resource(resource_type: str, **properties: object) -> dict[str, Any]:
    return {"Type": resource_type, "Properties": properties}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m bench.lint", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each variant (default: 5)")
    rounds = parser.parse_args().rounds
    table = Table(title="cfn-lint in one process, medians", title_justify="left")
    table.add_column("resources")
    for heading in ("alone, ms", "with the pack, ms", "added, ms", "findings of the pack"):
        table.add_column(heading, justify="right")
    for capacities in SIZES:
        text = json.dumps(template_of(capacities))
        _timed(text, [])  # reads cfn-lint's schemas
        _timed(text, [PACK])
        alone, with_pack, found = [], [], 0
        for _ in range(rounds):
            alone.append(_timed(text, [])[0])
            took, found = _timed(text, [PACK])
            with_pack.append(took)
        added = median(second - first for first, second in zip(alone, with_pack, strict=True))
        size = str(1 + RESOURCES_EACH * capacities)
        table.add_row(size, f"{median(alone):.0f}", f"{median(with_pack):.0f}", f"{added:.0f}", str(found))
    Console().print(table)


def _timed(text: str, packs: Sequence[str]) -> tuple[float, int]:
    started = perf_counter()
    found = lint(text, config=ManualArgs(append_rules=list(packs)))
    took = (perf_counter() - started) * 1000
    return took, sum("GPU" in each.message for each in found)


if __name__ == "__main__":
    main()

"""How long the command line takes, from the start of the process to its end: ``python -m bench.cli``.

A node that only notes that it was called stands first on the path, so that "starts no Node process" is measured too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.cli.many_files import make

__all__ = ["cluster_of", "resources_of", "template"]

_RESOURCES = 500  # of one stack at most
_SETS = 60  # hosts, task and service

_AMI = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"


def template(*, choices: int = 0) -> dict[str, object]:
    """A template of 500 resources: 60 capacities with a task and a service each, and what else a stack is made of.

    Args:
        choices: Values that its parameter of instance types allows, besides the default.
    """
    resources: dict[str, object] = cluster_of(_SETS)
    for number in range(_SETS):
        resources |= resources_of(number, {"Ref": "InstanceType"} if choices and not number else "g6.xlarge")
    for number in range(_RESOURCES - len(resources)):
        resources[f"Role{number}"] = {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Action": "sts:AssumeRole",
                            "Principal": {"Service": {"Fn::Sub": "ecs-tasks.${AWS::URLSuffix}"}},
                        }
                    ],
                },
                "Tags": [{"Key": "number", "Value": str(number)}],
            },
        }
    allowed = ["g6.xlarge", *(f"g6.{size}xlarge" for size in (2, 4, 8, 12, 16, 24, 48)[:choices])]
    parameters = {"InstanceType": {"Type": "String", "Default": "g6.xlarge", "AllowedValues": allowed}}
    return {"Parameters": parameters, "Resources": resources}


def cluster_of(count: int) -> dict[str, Any]:
    """A cluster, and the list of its capacity providers.

    Args:
        count: How many capacities of `resources_of` it has.
    """
    return {
        "Cluster": {"Type": "AWS::ECS::Cluster"},
        "Association": {
            "Type": "AWS::ECS::ClusterCapacityProviderAssociations",
            "Properties": {
                "Cluster": {"Ref": "Cluster"},
                "CapacityProviders": [{"Ref": f"Provider{number}"} for number in range(count)],
                "DefaultCapacityProviderStrategy": [],
            },
        },
    }


def resources_of(number: int, instance_type: object) -> dict[str, Any]:
    """The resources of one capacity with a task and a service, each with the number in its name.

    Args:
        number: Which one.
        instance_type: What its hosts are.
    """
    return {
        f"Template{number}": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateData": {
                    "InstanceType": instance_type,
                    "IamInstanceProfile": {"Name": "ecsInstanceRole"},
                    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100}}],
                    "ImageId": f"{{{{resolve:ssm:{_AMI}}}}}",
                    "UserData": {
                        "Fn::Base64": {"Fn::Sub": "#!/bin/bash\necho ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config"}
                    },
                }
            },
        },
        f"Hosts{number}": {
            "Type": "AWS::AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "4",
                "LaunchTemplate": {
                    "LaunchTemplateId": {"Ref": f"Template{number}"},
                    "Version": {"Fn::GetAtt": [f"Template{number}", "LatestVersionNumber"]},
                },
                "VPCZoneIdentifier": ["subnet-1", "subnet-2"],
            },
        },
        f"Provider{number}": {
            "Type": "AWS::ECS::CapacityProvider",
            "Properties": {
                "AutoScalingGroupProvider": {
                    "AutoScalingGroupArn": {"Ref": f"Hosts{number}"},
                    "ManagedScaling": {"Status": "ENABLED"},
                    "ManagedTerminationProtection": "DISABLED",
                }
            },
        },
        f"Task{number}": {
            "Type": "AWS::ECS::TaskDefinition",
            "Properties": {
                "Family": f"task-{number}",
                "ContainerDefinitions": [
                    {
                        "Name": "main",
                        "Image": "vllm/vllm-openai",
                        "Cpu": 2048,
                        "Memory": 8192,
                        "ResourceRequirements": [{"Type": "GPU", "Value": "1"}],
                    }
                ],
            },
        },
        f"Service{number}": {
            "Type": "AWS::ECS::Service",
            "DependsOn": "Association",
            "Properties": {
                "Cluster": {"Ref": "Cluster"},
                "TaskDefinition": {"Ref": f"Task{number}"},
                "DesiredCount": 2,
                "CapacityProviderStrategy": [{"CapacityProvider": {"Ref": f"Provider{number}"}, "Weight": 1}],
            },
        },
    }


def _run(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds from start to end, and of processor time."""
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    taken, now = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode(errors="replace"))
    return taken * 1000, (now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime) * 1000


def _measured(runs: int, folder: Path) -> None:
    called = folder / "node-was-called"
    node = folder / "node"
    node.write_text(f"#!/bin/sh\necho called >> '{called}'\nexit 1\n", encoding="utf-8")
    node.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    # An installed package has its bytecode; a checkout that is worked on may not.
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    in_json, in_yaml, choice = (folder / name for name in ("t.json", "t.yaml", "choice.json"))
    in_json.write_text(json.dumps(template(), indent=1), encoding="utf-8")
    in_yaml.write_text(_yaml(template()), encoding="utf-8")
    choice.write_text(json.dumps(template(choices=7), indent=1), encoding="utf-8")
    repository = folder / "repository"
    make(repository, 300)
    ours, asking = [sys.executable, "-m", "gpu_constructs"], [sys.executable, "-m", "bench.answered"]
    rows: list[tuple[str, list[str], int | None]] = [
        ("python that does nothing", [sys.executable, "-c", "pass"], None),
        ("--version", [*ours, "--version"], 150),
        ("instances, with prices", [*ours, "instances"], 150),
        ("instances that hold a model", [*ours, "instances", "--serve", "llama-3.1-70b", "--precision", "fp8"], 150),
        ("instances --gpus 4.. --format json", [*ours, "instances", "--gpus", "4..", "--format", "json"], 150),
        ("rules", [*ours, "rules"], 150),
        ("check, 500 resources, JSON", [*ours, "check", str(in_json)], 300),
        ("check, 500 resources, JSON, to SARIF", [*ours, "check", str(in_json), "--format", "sarif"], 300),
        ("check, 500 resources, YAML", [*ours, "check", str(in_yaml)], None),
        ("check, 500 resources, 7 other values of a parameter", [*ours, "check", str(choice)], None),
        ("check, a repository of 300 files", [*ours, "check", str(repository)], 3000),
        ("plan, 500 resources", [*ours, "plan", str(in_json)], 300),
        ("preflight, 500 resources, answers at hand", [*asking, str(in_json), "--region", "us-east-1"], None),
        ("explain, 500 resources", [*ours, "explain", "Task7", str(in_json)], 300),
    ]
    sys.stdout.write("| process | median, ms | fastest, ms | processor, ms | budget, ms | Node processes |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for name, command, budget in rows:
        called.unlink(missing_ok=True)
        _run(command, environment)
        times = [_run(command, environment) for _ in range(runs)]
        nodes = len(called.read_text(encoding="utf-8").splitlines()) if called.exists() else 0
        median, fastest = statistics.median(each for each, _ in times), min(times)[0]
        processor = statistics.median(each for _, each in times)
        over = " (over)" if budget is not None and median > budget else ""
        sys.stdout.write(
            f"| {name} | {median:.0f}{over} | {fastest:.0f} | {processor:.0f} | {budget or ''} | {nodes} |\n"
        )
        sys.stdout.flush()


def _yaml(body: dict[str, object]) -> str:
    return str(import_module("yaml").safe_dump(body, sort_keys=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    with tempfile.TemporaryDirectory() as name:
        _measured(parser.parse_args().runs, Path(name))

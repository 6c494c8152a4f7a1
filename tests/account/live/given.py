"""Answers of a small cluster, as ``aws ecs describe-…`` prints them."""

from __future__ import annotations

from typing import Any

Answer = dict[str, Any]

# An activity of Auto Scaling, without its wrapping in https://github.com/aws/amazon-cloudwatch-agent-test/pull/256
VCPUS = (
    "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current "
    "vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Please visit "
    "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. Launching EC2 instance failed"
)

_PROVIDER, _GROUP, _DEFINITION = "gpu", "gpu-group", "arn:aws:ecs:us-east-1:123456789012:task-definition/chat:1"


def cluster(
    *,
    gpus: tuple[str, ...] = ("GPU-1",),
    free: tuple[str, ...] = (),
    attributes: tuple[str, ...] = (),
    required: tuple[str, ...] = (),
    group: Answer | None = None,
    activities: tuple[str | Answer, ...] = (),
    host: Answer | None = None,
    definition: Answer | None = None,
) -> Answer:
    """A service that has none of its one task on one host of a g6.xlarge.

    Args:
        gpus: Ids of the GPUs that the host registered.
        free: Those that no task has.
        attributes: Attributes of the host besides its type.
        required: Attributes that the task definition requires.
        group: More of the Auto Scaling group.
        activities: Its launches, the newest first: words of one that failed, or what is else than that.
        host: More of the host.
        definition: More of the task definition.
    """
    return {
        "clusters": [{"clusterName": "demo", "capacityProviders": [_PROVIDER]}],
        "services": [
            {
                "serviceName": "chat",
                "taskDefinition": _DEFINITION,
                "desiredCount": 1,
                "runningCount": 0,
                "pendingCount": 0,
                "capacityProviderStrategy": [{"capacityProvider": _PROVIDER, "weight": 1}],
                "events": [{"message": "(service chat) was unable to place a task."}],
            }
        ],
        "tasks": [],
        "taskDefinition": {
            "taskDefinitionArn": _DEFINITION,
            "family": "chat",
            "requiresCompatibilities": ["EC2"],
            "requiresAttributes": [{"name": each} for each in required],
            "containerDefinitions": [
                {"name": "chat", "memory": 512, "resourceRequirements": [{"type": "GPU", "value": "1"}]}
            ],
            **(definition or {}),
        },
        "containerInstances": [
            {
                "containerInstanceArn": "arn:aws:ecs:us-east-1:123456789012:container-instance/demo/1",
                "ec2InstanceId": "i-1",
                "capacityProviderName": _PROVIDER,
                "status": "ACTIVE",
                "agentConnected": True,
                "attributes": [
                    {"name": "ecs.instance-type", "value": "g6.xlarge"},
                    *({"name": each} for each in attributes),
                ],
                "registeredResources": _resources(gpus),
                "remainingResources": _resources(free),
                **(host or {}),
            }
        ],
        "capacityProviders": [
            {
                "name": _PROVIDER,
                "status": "ACTIVE",
                "autoScalingGroupProvider": {
                    "autoScalingGroupArn": "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:0:"
                    f"autoScalingGroupName/{_GROUP}",
                    "managedScaling": {"status": "ENABLED"},
                },
            }
        ],
        "AutoScalingGroups": [
            {
                "AutoScalingGroupName": _GROUP,
                "MinSize": 0,
                "MaxSize": 4,
                "DesiredCapacity": 2,
                "Instances": [{"InstanceId": "i-1", "InstanceType": "g6.xlarge", "LifecycleState": "InService"}],
                **(group or {}),
            }
        ],
        "Activities": [
            {
                "AutoScalingGroupName": _GROUP,
                "StatusCode": "Failed",
                **({"StatusMessage": each} if isinstance(each, str) else each),
            }
            for each in activities
        ],
    }


def _resources(gpus: tuple[str, ...]) -> list[Answer]:
    return [
        {"name": "CPU", "type": "INTEGER", "integerValue": 4096},
        {"name": "MEMORY", "type": "INTEGER", "integerValue": 15144},  # what GPU006 counts on
        {"name": "GPU", "type": "STRINGSET", "stringSetValue": list(gpus)},
    ]

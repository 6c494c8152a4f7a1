"""Events as AWS documents them, shortened, with numbers of their own.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html and the pages below it.
"""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]

_ACCOUNT = "arn:aws:ecs:us-east-1:111122223333"
CLUSTER = f"{_ACCOUNT}:cluster/gpus"
OTHER_CLUSTER = f"{_ACCOUNT}:cluster/others"
BLOCK = "cr-0123456789abcdef0"


def _event(source: str, detail_type: str, detail: dict[str, Any], *resources: str) -> Event:
    return {
        "version": "0",
        "id": "3f5dee1b-0000-4000-8000-000000000000",
        "detail-type": detail_type,
        "source": source,
        "account": "111122223333",
        "time": "2026-11-22T19:27:22Z",
        "region": "us-east-1",
        "resources": list(resources),
        "detail": detail,
    }


def service_action(name: str, *, kind: str = "ERROR", cluster: str = CLUSTER, reason: str = "RESOURCE:GPU") -> Event:
    detail = {
        "eventType": kind,
        "eventName": name,
        "clusterArn": cluster,
        "capacityProviderArns": [f"{_ACCOUNT}:capacity-provider/l4"],
        "createdAt": "2026-11-22T19:09:33.087Z",
    }
    if kind == "ERROR":
        detail["reason"] = reason
    return _event("aws.ecs", "ECS Service Action", detail, f"{_ACCOUNT}:service/{cluster.rpartition('/')[2]}/chat")


def task_stopped(stop_code: str, reason: str, *, status: str = "STOPPED", cluster: str = CLUSTER) -> Event:
    task = f"{_ACCOUNT}:task/{cluster.rpartition('/')[2]}/b99d40b35b7d4d7c9ee9a7bd2c2f4c3d"
    detail = {
        "clusterArn": cluster,
        "containerInstanceArn": f"{_ACCOUNT}:container-instance/gpus/b54a2a04c5a24ef7a5e7a8ee0e8b6d2f",
        "desiredStatus": "STOPPED",
        "group": "job:nightly",
        "lastStatus": status,
        "stopCode": stop_code,
        "stoppedReason": reason,
        "taskArn": task,
        "version": 4,
    }
    return _event("aws.ecs", "ECS Task State Change", detail, task)


def deployment(name: str, *, cluster: str = CLUSTER) -> Event:
    detail = {"eventType": "ERROR", "eventName": name, "deploymentId": "ecs-svc/123", "reason": "…"}
    service = f"{_ACCOUNT}:service/{cluster.rpartition('/')[2]}/chat"
    return _event("aws.ecs", "ECS Deployment State Change", detail, service)

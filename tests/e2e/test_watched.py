"""The watched stack on the emulator: deployed, used, changed and destroyed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ecs_emulator.local import Local
from stacks.watched import WatchedStack

from tests.synthesis import Site, app_in


def _assembly(folder: Path, *, email: str) -> Path:
    app = app_in(folder, Site.recommended_context())
    WatchedStack(app, "watched", email=email)
    return Path(app.synth().directory)


def _arn(cluster: str) -> str:
    return f"arn:aws:ecs:us-east-1:123456789012:cluster/{cluster}"


def test_a_watched_cluster_is_deployed_changed_and_destroyed(cloud: Local, tmp_path: Path) -> None:
    account = cloud.account
    watches, logs = account.client("cloudwatch"), account.client("logs")

    def alarms() -> dict[str, Any]:
        return {each["AlarmName"]: each for each in watches.describe_alarms()["MetricAlarms"]}

    stack = cloud.deploy_assembly(_assembly(tmp_path / "first", email="gpus@example.com"), "watched")
    outputs = stack.outputs

    # Four of the cluster, three of each capacity, one of the recovery, and one of the job.
    assert len(alarms()) == 4 + 2 * 3 + 1 + 1
    assert all(each["AlarmActions"] for each in alarms().values())
    body = json.loads(watches.get_dashboard(DashboardName=outputs["Dashboard"])["DashboardBody"])
    (states,) = (each["properties"]["alarms"] for each in body["widgets"] if each["type"] == "alarm")
    shown = {each.rpartition(":")[2] for each in states}
    (own,) = alarms().keys() - shown
    assert "JobAlarm" in own
    (events,) = {each["logGroupName"] for each in logs.describe_metric_filters()["metricFilters"]}
    queries = [each["properties"]["query"] for each in body["widgets"] if each["type"] == "log"]
    groups = {each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]}
    (of_gpus,) = {each.split("'")[1] for each in queries} - {events}
    assert of_gpus in groups
    assert "ClusterMonitoringLogs" in of_gpus
    # The service has a host, and each host has the daemon.
    for _ in range(5):
        hosts, tasks = account.hosts(outputs["ClusterName"]), account.tasks(outputs["ClusterName"])
    of_daemon = sorted(str(each.instance_id) for each in tasks if "Collector" in each.family)
    assert of_daemon == sorted(each.instance_id for each in hosts)
    assert sum("Chat" in each.family and each.status == "RUNNING" for each in tasks) == 1

    # A GPU fails: the service runs on another host.
    (broken,) = (each.instance_id for each in tasks if "Chat" in each.family)
    ecs = account.client("ecs")
    arns = ecs.list_container_instances(cluster=outputs["ClusterName"])["containerInstanceArns"]
    found = ecs.describe_container_instances(cluster=outputs["ClusterName"], containerInstances=arns)
    (arn,) = (each["containerInstanceArn"] for each in found["containerInstances"] if each["ec2InstanceId"] == broken)
    fault = {"clusterArn": _arn(outputs["ClusterName"]), "containerInstanceArn": arn, "reason": "XID_79"}
    entry = {"Source": "gpu-constructs", "DetailType": "GPU Fault"}
    account.client("events").put_events(Entries=[{**entry, "Detail": json.dumps(fault)}])
    for _ in range(10):
        hosts, tasks = account.hosts(outputs["ClusterName"]), account.tasks(outputs["ClusterName"])
    assert broken not in {each.instance_id for each in hosts}
    assert sum("Chat" in each.family and each.status == "RUNNING" for each in tasks) == 1

    # What ECS reports of this cluster gets into its log, and what it reports of others does not.
    for cluster in (outputs["ClusterName"], "other"):
        detail = {"clusterArn": _arn(cluster), "eventName": "SERVICE_TASK_PLACEMENT_FAILURE", "reason": "RESOURCE:GPU"}
        entry = {"Source": "aws.ecs", "DetailType": "ECS Service Action", "Detail": json.dumps(detail)}
        account.client("events").put_events(Entries=[entry])
    streams = logs.describe_log_streams(logGroupName=events)["logStreams"]
    written = [
        json.loads(line["message"])["detail"]["clusterArn"]
        for each in streams
        for line in logs.get_log_events(logGroupName=events, logStreamName=each["logStreamName"])["events"]
    ]
    assert [each.rpartition("/")[2] for each in written] == [outputs["ClusterName"]]

    changed = _assembly(tmp_path / "second", email="others@example.com") / "watched.template.json"
    assert cloud.update(stack, json.loads(changed.read_text())).outputs == outputs
    assert len(alarms()) == 12

    cloud.destroy(stack)
    assert alarms() == {}

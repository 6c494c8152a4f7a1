"""Who may assume the roles that the constructs make: a service for this account, where it says for whom it acts."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from gpu_constructs import GpuJob
from tests.synthesis import Site

# Of ECS the key is documented for the roles of tasks, and not for those with which it starts them.
SAYS_FOR_WHOM = {"ecs-tasks", "events", "scheduler", "states"}
EXECUTION = "ExecutionRole"


def test_a_service_assumes_a_role_for_this_account_alone_where_it_says_for_whom_it_acts(site: Site) -> None:
    site.cluster.add_monitoring("Monitoring", notify=sns.Topic(site.stack, "Operators")).add_recovery()
    task = site.task(site.l4)
    task.add_gpu_container("train", image=site.image)
    job = GpuJob(site.stack, "Job", cluster=site.cluster, task_definition=task, timeout=cdk.Duration.hours(1))
    bucket = s3.Bucket(site.stack, "Bucket")
    job.run_from_queue("Queued", queue=sqs.Queue(site.stack, "Queue"))
    job.run_on_object("New", bucket=bucket, prefix="a/")
    job.run_on_object("Newer", bucket=bucket, prefix="b/")
    job.run_on_schedule("Nightly", schedule=scheduler.ScheduleExpression.rate(cdk.Duration.days(1)))
    open_: set[str] = set()
    narrowed: set[str] = set()
    for name, role in site.template()["Resources"].items():
        if role["Type"] == "AWS::IAM::Role":
            (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            service = str(statement["Principal"]["Service"]).partition(".")[0]
            account = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceAccount")
            assert account in (None, {"Ref": "AWS::AccountId"})
            if service in SAYS_FOR_WHOM and EXECUTION not in name:
                (narrowed if account else open_).add(name)
    assert not open_
    assert {name.rstrip("0123456789ABCDEF") for name in narrowed} >= {"JobStateMachineEventsRole", "JobQueuedRole"}
    assert len(narrowed) == 10

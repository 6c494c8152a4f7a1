"""What state machines ask AWS besides running tasks: integrations of Step Functions, by the end of their resource.

They answer with the fields that somebody here reads. Asking takes no time, unlike the same calls over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from moto.autoscaling.models import autoscaling_backends
from moto.batch.models import batch_backends
from moto.core.utils import unix_time_millis
from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import dynamodb_backends
from moto.ecs.models import ecs_backends
from moto.sns.models import sns_backends
from moto.sqs.models import sqs_backends
from moto.stepfunctions.models import stepfunctions_backends

from . import switches
from .autoscaling import EmulatedGroup
from .state_language import StateError

if TYPE_CHECKING:
    from .batch import EmulatedBatch
    from .batch_jobs import EmulatedJob
    from .hosts import EcsHost
    from .resource import Region
    from .running import RunningEcs

__all__ = ["CALLS", "members_of", "pascal_case"]

Json = Mapping[str, Any]


def pascal_case(value: Any) -> Any:
    """The API's property names as Step Functions writes them."""
    if isinstance(value, list):
        return [pascal_case(each) for each in value]
    if isinstance(value, dict):
        return {f"{key[:1].upper()}{key[1:]}": pascal_case(each) for key, each in value.items()}
    return value


def _ecs(where: Region) -> RunningEcs:
    return cast("RunningEcs", ecs_backends[where.account_id][where.name])


def _cluster(given: Json) -> str:
    return str(given["Cluster"].rpartition("/")[2])


# Tasks


def _list_tasks(where: Region, given: Json) -> Any:
    tasks = _ecs(where).active_tasks(_cluster(given))
    family, host, service = given.get("Family"), given.get("ContainerInstance"), given.get("ServiceName")
    arns = [
        each.task_arn
        for each in tasks
        if family in (None, each.family)
        and host in (None, each.container_instance_arn)
        and service in (None, each.group.removeprefix("service:"))
    ]
    # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ListTasks.html
    begin = int(given.get("NextToken", 0))
    end = begin + given.get("MaxResults", 100)
    return {"TaskArns": arns[begin:end], **({"NextToken": str(end)} if end < len(arns) else {})}


def _describe_tasks(where: Region, given: Json) -> Any:
    tasks = _ecs(where).active_tasks(_cluster(given))
    return {"Tasks": [pascal_case(each.as_described) for each in tasks if each.task_arn in given["Tasks"]]}


def _stop_task(where: Region, given: Json) -> Any:
    for each in _ecs(where).active_tasks(_cluster(given)):
        if each.task_arn == given["Task"]:
            each.stop(given["Reason"])
            return {"Task": pascal_case(each.as_described)}
    raise StateError("Ecs.InvalidParameterException", "The referenced task was not found.")


# Hosts


def _hosts(where: Region, given: Json) -> list[EcsHost]:
    hosts = _ecs(where).hosts(_cluster(given))
    return [each for each in hosts if each.container_instance_arn in given["ContainerInstances"]]


def _describe_container_instances(where: Region, given: Json) -> Any:
    return {"ContainerInstances": [_described(each) for each in _hosts(where, given)]}


def _update_container_instances_state(where: Region, given: Json) -> Any:
    for each in _hosts(where, given):
        each.status = given["Status"]
    return _describe_container_instances(where, given)


def _described(host: EcsHost) -> Any:
    running = host.running_tasks_count
    provider = {"CapacityProviderName": host.capacity_provider_name} if host.capacity_provider_name else {}
    return {
        "ContainerInstanceArn": host.container_instance_arn,
        "Ec2InstanceId": host.ec2_instance_id,
        "Status": host.status,
        "RunningTasksCount": running,
        "PendingTasksCount": len(host.tasks) - running,
        **provider,
    }


# Auto Scaling groups


def _groups(where: Region) -> list[EmulatedGroup]:
    groups = autoscaling_backends[where.account_id][where.name].autoscaling_groups.values()
    return [each for each in groups if isinstance(each, EmulatedGroup)]


def members_of(where: Region, instance_ids: list[str]) -> list[tuple[EmulatedGroup, Any]]:
    """The running members of Auto Scaling groups among instances, each with its group."""
    return [
        (group, state)
        for group in _groups(where)
        for state in group.instance_states
        if state.instance.id in instance_ids and state.instance.is_running()
    ]


def _describe_instances(where: Region, given: Json) -> Any:
    return {
        "AutoScalingInstances": [
            {
                "InstanceId": state.instance.id,
                "AutoScalingGroupName": group.name,
                "LifecycleState": state.lifecycle_state,
            }
            for group, state in members_of(where, given["InstanceIds"])
        ]
    }


def _terminate(where: Region, given: Json) -> Any:
    """Ends it at once; managed draining has nothing left to wait for here."""
    if given["ShouldDecrementDesiredCapacity"]:
        raise StateError("States.Runtime", "the emulator does not decrement the desired capacity")
    members = members_of(where, [given["InstanceId"]])
    if not members:
        raise StateError("AutoScaling.AutoScalingException", f"Instance Id not found - {given['InstanceId']}")
    for group, state in members:
        group.end([state.instance])
    return {"Activity": {"StatusCode": "InProgress"}}


# A table and a topic


def _update_item(where: Region, given: Json) -> Any:
    tables = dynamodb_backends[where.account_id][where.name]
    try:
        tables.update_item(
            given["TableName"],
            dict(given["Key"]),
            update_expression=given["UpdateExpression"],
            expression_attribute_names={},
            expression_attribute_values=dict(given["ExpressionAttributeValues"]),
            condition_expression=given["ConditionExpression"],
        )
    except ConditionalCheckFailed as error:
        raise StateError("DynamoDB.ConditionalCheckFailedException", str(error)) from error
    return {}


def _get_item(where: Region, given: Json) -> Any:
    found = dynamodb_backends[where.account_id][where.name].get_item(given["TableName"], dict(given["Key"]))
    return {} if found is None else {"Item": found.to_json()["Attributes"]}


def _publish(where: Region, given: Json) -> Any:
    topics = sns_backends[where.account_id][where.name]
    return {"MessageId": topics.publish(given["Message"], arn=given["TopicArn"], subject=given["Subject"])}


# Queues and executions


def _queue(given: Json) -> str:
    return str(given["QueueUrl"].rpartition("/")[2])


def _get_queue_attributes(where: Region, given: Json) -> Any:
    found = sqs_backends[where.account_id][where.name].get_queue_attributes(_queue(given), given["AttributeNames"])
    return {"Attributes": {name: str(value) for name, value in found.items()}}


def _receive_message(where: Region, given: Json) -> Any:
    found = sqs_backends[where.account_id][where.name].receive_message(
        _queue(given), given["MaxNumberOfMessages"], 0, given["VisibilityTimeout"]
    )
    return {
        "Messages": [
            {
                "MessageId": each.id,
                "Body": each.body,
                "ReceiptHandle": each.receipt_handle,
                "Attributes": {"ApproximateReceiveCount": str(each.approximate_receive_count)},
            }
            for each in found
        ]
    }


def _change_message_visibility(where: Region, given: Json) -> Any:
    """Moto counts 12 hours from when the message was sent, and AWS from when it was received."""
    for each in sqs_backends[where.account_id][where.name].get_queue(_queue(given))._messages:
        if each.had_receipt_handle(given["ReceiptHandle"]):
            each.change_visibility(given["VisibilityTimeout"])
    return {}


def _delete_message(where: Region, given: Json) -> Any:
    sqs_backends[where.account_id][where.name].delete_message(_queue(given), given["ReceiptHandle"])
    return {}


def _send_message(where: Region, given: Json) -> Any:
    sent = sqs_backends[where.account_id][where.name].send_message(
        _queue(given), given["MessageBody"], message_attributes=given.get("MessageAttributes")
    )
    return {"MessageId": sent.id}


def _list_executions(where: Region, given: Json) -> Any:
    machine = stepfunctions_backends[where.account_id][where.name].describe_state_machine(given["StateMachineArn"])
    found = [each for each in reversed(machine.executions) if each.status == given["StatusFilter"]]  # newest first
    return {"Executions": [{"ExecutionArn": each.execution_arn} for each in found[: given["MaxResults"]]]}


def _start_execution(where: Region, given: Json) -> Any:
    machines = stepfunctions_backends[where.account_id][where.name]
    return {"ExecutionArn": machines.start_execution(given["StateMachineArn"], "", given["Input"]).execution_arn}


# Jobs


def _batch(where: Region) -> EmulatedBatch:
    return cast("EmulatedBatch", batch_backends[where.account_id][where.name])


def _jobs(where: Region, queue: str, status: str) -> list[EmulatedJob]:
    found = _batch(where).get_job_queue(queue)
    assert found is not None
    return [each for each in cast("list[EmulatedJob]", found.jobs) if each.status == status]


def _queue_snapshot(where: Region, given: Json) -> Any:
    waiting = _jobs(where, given["JobQueue"], "RUNNABLE")
    for each in waiting[:1]:
        each.first_since = each.first_since or int(unix_time_millis())
    jobs = [{"JobArn": each.arn, "EarliestTimeAtPosition": each.first_since} for each in waiting]
    return {"FrontOfQueue": {"Jobs": jobs[:100]}}


def _list_jobs(where: Region, given: Json) -> Any:
    return {"JobSummaryList": [{"JobArn": each.arn} for each in _jobs(where, given["JobQueue"], given["JobStatus"])]}


def _describe_environments(where: Region, given: Json) -> Any:
    """``/emulator/invalid`` (`switches`) says of what an environment is invalid whose name has its first word."""
    name, _, reason = (switches.read(where, "invalid") or "").partition(":")
    every = (_batch(where).get_compute_environment_by_arn(each) for each in given["ComputeEnvironments"])
    found = [each for each in every if each is not None]
    return {
        "ComputeEnvironments": [
            {
                "ComputeEnvironmentName": each.name,
                "Status": "INVALID" if name and name in each.name else "VALID",
                "StatusReason": reason or "ComputeEnvironment Healthy",
            }
            for each in found
        ]
    }


CALLS: Mapping[str, Callable[[Any, Json], Any]] = {
    "aws-sdk:autoscaling:describeAutoScalingInstances": _describe_instances,
    "aws-sdk:autoscaling:terminateInstanceInAutoScalingGroup": _terminate,
    "aws-sdk:batch:describeComputeEnvironments": _describe_environments,
    "aws-sdk:batch:getJobQueueSnapshot": _queue_snapshot,
    "aws-sdk:batch:listJobs": _list_jobs,
    "aws-sdk:ecs:describeContainerInstances": _describe_container_instances,
    "aws-sdk:ecs:describeTasks": _describe_tasks,
    "aws-sdk:ecs:listTasks": _list_tasks,
    "aws-sdk:ecs:stopTask": _stop_task,
    "aws-sdk:ecs:updateContainerInstancesState": _update_container_instances_state,
    "aws-sdk:sfn:listExecutions": _list_executions,
    "aws-sdk:sfn:startExecution": _start_execution,
    "aws-sdk:sqs:changeMessageVisibility": _change_message_visibility,
    "aws-sdk:sqs:deleteMessage": _delete_message,
    "aws-sdk:sqs:getQueueAttributes": _get_queue_attributes,
    "aws-sdk:sqs:receiveMessage": _receive_message,
    "dynamodb:getItem": _get_item,
    "dynamodb:updateItem": _update_item,
    "sns:publish": _publish,
    "sqs:sendMessage": _send_message,
}
"""What each answers, from the account and region and the parameters of the state."""

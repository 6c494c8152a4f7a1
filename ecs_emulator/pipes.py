"""Pipes of EventBridge from a queue to a state machine: each message starts an execution, and is deleted then.

moto 5.2.5 keeps pipes, has no resource type for them, and moves nothing. Not modelled: other sources and targets,
batches, filters, templates of inputs. https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes.html
"""

from __future__ import annotations

import json
from typing import Any

from moto.pipes.models import EventBridgePipesBackend, pipes_backends
from moto.sqs.models import sqs_backends
from moto.stepfunctions.models import stepfunctions_backends

from . import permissions
from .policies import Call
from .resource import Properties, Region, Resource

__all__ = ["Pipe", "deliver"]


_NOT_GIVEN: dict[str, Any] = dict.fromkeys(
    (
        "description",
        "desired_state",
        "enrichment",
        "enrichment_parameters",
        "kms_key_identifier",
        "log_configuration",
        "source_parameters",
        "tags",
        "target_parameters",
    )
)


def _pipes(where: Region) -> EventBridgePipesBackend:
    return pipes_backends[where.account_id][where.name]


def deliver(where: Region) -> None:
    """Start an execution for each message that waits.

    Args:
        where: The account and region.
    """
    queues = sqs_backends[where.account_id][where.name]
    machines = stepfunctions_backends[where.account_id][where.name]
    for pipe in _pipes(where).pipes.values():
        queue = pipe.source.rpartition(":")[2]
        takes = (Call(f"sqs:{each}", pipe.source) for each in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes"))
        if permissions.refusal(where, pipe.role_arn, [*takes, Call("states:StartExecution", pipe.target)]):
            continue
        while messages := queues.receive_message(queue, 1, 0, 30):
            (message,) = messages
            event = {"messageId": message.id, "body": message.body, "eventSource": "aws:sqs"}
            machines.start_execution(pipe.target, "", json.dumps([event]))
            queues.delete_message(queue, str(message.receipt_handle))


class Pipe(Resource):
    """A pipe; ``Ref`` gives its name."""

    type_name = "AWS::Pipes::Pipe"
    name_property = "Name"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"Name", "Source"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Pipe:
        target = properties["TargetParameters"]["StepFunctionStateMachineParameters"]
        if target["InvocationType"] != "FIRE_AND_FORGET":
            raise ValueError("a pipe does not wait for the end of a standard state machine")
        made = _pipes(region).create_pipe(
            name=name,
            source=properties["Source"],
            target=properties["Target"],
            role_arn=properties["RoleArn"],
            **_NOT_GIVEN,
        )
        return cls(name, {"Arn": made.arn})

    def update(self, region: Region, properties: Properties) -> None:
        pipe = _pipes(region).pipes[self.physical_resource_id]
        pipe.target, pipe.role_arn = properties["Target"], properties["RoleArn"]

    def remove(self, region: Region) -> None:
        del _pipes(region).pipes[self.physical_resource_id]

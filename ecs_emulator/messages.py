"""What moto 5.2.5 skips in a stack, and what exists here and does nothing.

Policies and subscriptions of topics and queues, whether a bucket sends its events, and what counts lines of a log.
"""

from __future__ import annotations

from .resource import Properties, Region, Resource

__all__ = ["BucketNotifications", "QueuePolicy", "Subscription", "TopicPolicy"]


class _Idle(Resource):
    """Made, changed and deleted without a trace; no message is ever sent here."""

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> _Idle:
        return cls(name)

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        pass


class BucketNotifications(_Idle):
    """Whether CDK lets a bucket send its events to EventBridge; here `schedules` has them."""

    type_name = "Custom::S3BucketNotifications"


class QueuePolicy(_Idle):
    """Who may use a queue."""

    type_name = "AWS::SQS::QueuePolicy"


class Subscription(_Idle):
    """Who gets what a topic says."""

    type_name = "AWS::SNS::Subscription"
    create_only = frozenset({"Endpoint", "Protocol", "TopicArn"})


class TopicPolicy(_Idle):
    """Who may use a topic."""

    type_name = "AWS::SNS::TopicPolicy"

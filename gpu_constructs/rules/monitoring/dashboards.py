"""Dashboards: does CloudWatch take their bodies?"""

from __future__ import annotations

from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU385",
    question="is the body of the dashboard JSON?",
    because="PutDashboard refuses a body that is not a JSON object, and the stack rolls back",
    source="https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutDashboard.html",
)
def body_is_json(context: Context) -> Problems:
    for watch in context.fleet.watches:
        if watch.body_problem:
            yield Problem(
                about=watch,
                property_name="DashboardBody",
                message=f"the DashboardBody of {watch.name} cannot be read as JSON: {watch.body_problem}",
                fix="a JSON object with widgets",
            )

"""``AWS::Logs::MetricFilter``, a type that moto 5.2.5 does not have, and dashboards, which it renames at an update.

Filters and dashboards are kept and described. No filter counts and no dashboard is drawn.
"""

from __future__ import annotations

import json

from moto.cloudwatch.models import cloudwatch_backends
from moto.logs.models import logs_backends

from .resource import Properties, Region, Resource, camel_case

__all__ = ["Dashboard", "MetricFilter"]


class MetricFilter(Resource):
    """A filter of one log group."""

    type_name = "AWS::Logs::MetricFilter"
    name_property = "FilterName"
    create_only = frozenset({"FilterName", "LogGroupName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> MetricFilter:
        made = cls(name)
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        logs = logs_backends[region.account_id][region.name]
        self._group: str = properties["LogGroupName"]
        if self._group not in logs.groups:
            raise ValueError(f"there is no log group {self._group}")
        for each in properties["MetricTransformations"]:
            if each.get("Dimensions") and "DefaultValue" in each:
                raise ValueError("a metric with dimensions has no default value")
        logs.delete_metric_filter(self.physical_resource_id, self._group)
        logs.put_metric_filter(
            self.physical_resource_id,
            properties["FilterPattern"],
            self._group,
            # moto declares a text here, and keeps the list.
            [_transformation(each) for each in properties["MetricTransformations"]],  # type: ignore[arg-type]
        )

    def remove(self, region: Region) -> None:
        logs_backends[region.account_id][region.name].delete_metric_filter(self.physical_resource_id, self._group)


def _transformation(written: Properties) -> Properties:
    """As the API has it, whose dimensions are a map."""
    dimensions = {each["Key"]: each["Value"] for each in written.get("Dimensions", [])}
    others: Properties = camel_case({name: value for name, value in written.items() if name != "Dimensions"})
    return others | ({"dimensions": dimensions} if dimensions else {})


class Dashboard(Resource):
    """A dashboard, whose body is JSON."""

    type_name = "AWS::CloudWatch::Dashboard"
    name_property = "DashboardName"
    create_only = frozenset({"DashboardName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Dashboard:
        made = cls(name)
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        body = properties["DashboardBody"]
        if not json.loads(body)["widgets"]:
            raise ValueError("the body of a dashboard has a list of widgets")
        cloudwatch_backends[region.account_id][region.name].put_dashboard(self.physical_resource_id, body)

    def remove(self, region: Region) -> None:
        cloudwatch_backends[region.account_id][region.name].delete_dashboards([self.physical_resource_id])

"""``AWS::CloudWatch::Alarm``, which moto 5.2.5 skips. Alarms exist and are described; their state never changes.

Those that scale a service are evaluated by `service_scaling`.
"""

from __future__ import annotations

from moto.cloudwatch.models import cloudwatch_backends

from .resource import Properties, Region, Resource

__all__ = ["Alarm"]


class Alarm(Resource):
    """One alarm."""

    type_name = "AWS::CloudWatch::Alarm"
    name_property = "AlarmName"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"AlarmName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Alarm:
        made = cls(name, {"Arn": f"arn:aws:cloudwatch:{region.name}:{region.account_id}:alarm:{name}"})
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        single, queries = properties.get("MetricName"), properties.get("Metrics")
        if bool(single) == bool(queries):
            raise ValueError("an alarm has either a metric or a list of metric queries")
        alarm = cloudwatch_backends[region.account_id][region.name].put_metric_alarm(
            name=self.physical_resource_id,
            namespace=properties.get("Namespace", ""),
            metric_name=single or "",
            comparison_operator=properties["ComparisonOperator"],
            evaluation_periods=int(properties["EvaluationPeriods"]),
            period=int(properties.get("Period", 60)),
            threshold=float(properties.get("Threshold", 0)),
            statistic=properties.get("Statistic", ""),
            description=properties.get("AlarmDescription", ""),
            dimensions=[dict(item) for item in properties.get("Dimensions", [])],
            alarm_actions=properties.get("AlarmActions", []),
            treat_missing_data=properties.get("TreatMissingData"),
        )
        alarm.properties = properties  # type: ignore[attr-defined] # moto keeps no metric math

    def remove(self, region: Region) -> None:
        cloudwatch_backends[region.account_id][region.name].delete_alarms([self.physical_resource_id])

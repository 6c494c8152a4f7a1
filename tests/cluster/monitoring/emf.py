"""The embedded metric format, as far as its specification can be checked.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html,
with the limits of its JSON schema; read on 2026-11-22.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import jsonschema

from gpu_constructs.cluster.monitoring.events import METRICS

CLUSTER, PROVIDER = ("ClusterName",), ("ClusterName", "CapacityProviderName")
SERVICE = ("ClusterName", "ServiceName")
SETS: Mapping[str, frozenset[tuple[str, ...]]] = {
    name: frozenset({CLUSTER, PROVIDER} | ({SERVICE} if each.statistic == "Average" else set()))
    for name, each in METRICS.items()
}
"""The sets of dimensions of each metric."""

Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""Values of metrics, by name and dimensions."""

_NAME = {"type": "string", "minLength": 1, "maxLength": 1024}
_DIMENSION = {"type": "string", "minLength": 1, "maxLength": 250}
_UNITS = ["Percent", "Bytes", "Count", "None", "Seconds", "Milliseconds"]
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["_aws"],
    "properties": {
        "_aws": {
            "type": "object",
            "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": {"type": "integer"},
                "CloudWatchMetrics": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["Namespace", "Dimensions", "Metrics"],
                        "additionalProperties": False,
                        "properties": {
                            "Namespace": _NAME,
                            "Dimensions": {
                                "type": "array",
                                "minItems": 1,
                                "items": {"type": "array", "minItems": 1, "maxItems": 30, "items": _DIMENSION},
                            },
                            "Metrics": {
                                "type": "array",
                                "minItems": 1,
                                "maxItems": 100,
                                "items": {
                                    "type": "object",
                                    "required": ["Name"],
                                    "properties": {"Name": _NAME, "Unit": {"enum": _UNITS}},
                                },
                            },
                        },
                    },
                },
            },
        }
    },
}


def values_in(line: str) -> Values:
    """The values that CloudWatch makes of a line; an error where it would refuse it."""
    document = json.loads(line)
    jsonschema.validate(document, _SCHEMA)
    found: Values = {}
    for directive in document["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = tuple((name, document[name]) for name in names)
            assert all(isinstance(value, str) and 0 < len(value) <= 1024 for _, value in dimensions), dimensions
            for metric in directive["Metrics"]:
                value = document[metric["Name"]]
                assert isinstance(value, (int, float)), (metric, value)
                assert math.isfinite(value)
                assert (metric["Name"], dimensions) not in found
                found[metric["Name"], dimensions] = value
    return found

"""The ECS cluster query language: which hosts does a ``memberOf`` placement constraint accept?

An expression is read from text (`parse`), printed (`render`) and judged for a host: `evaluate`, and `judge` with the
reasons of what cannot be known. ``parse(render(query)) == query`` for every expression.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from gpu_constructs.placement.query.ast import (
    INSTANCE_TYPE,
    And,
    Comparison,
    Condition,
    Exists,
    In,
    Matches,
    Not,
    Or,
    Query,
    conditions,
    describe,
    instance_type_in,
    render,
)
from gpu_constructs.placement.query.evaluate import (
    BUILT_IN_ATTRIBUTES,
    SUBNET,
    ZONE,
    AttributeValue,
    Beginning,
    Host,
    evaluate,
    host_of,
    judge,
)
from gpu_constructs.placement.query.parser import QuerySyntaxError, parse
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator, Subject

__all__ = [
    "BUILT_IN_ATTRIBUTES",
    "INSTANCE_TYPE",
    "SUBNET",
    "ZONE",
    "And",
    "Attribute",
    "AttributeValue",
    "Beginning",
    "Comparison",
    "Condition",
    "Exists",
    "Field",
    "Host",
    "In",
    "Matches",
    "Not",
    "Operator",
    "Or",
    "Query",
    "QuerySyntaxError",
    "Subject",
    "conditions",
    "describe",
    "evaluate",
    "host_of",
    "instance_type_in",
    "judge",
    "parse",
    "render",
]

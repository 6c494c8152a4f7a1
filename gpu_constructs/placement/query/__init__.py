"""The ECS cluster query language: the expressions of ``memberOf`` placement constraints.

An expression is read from text (`parse`) or built from typed values (`instance_type_in`, `all_of`, ...), printed
(`render`), judged for a host (`evaluate`, and `judge` with the reasons of what cannot be known), and analysed
(`contradicts`, `satisfiable`, `families_matched`). ``parse(render(query)) == query`` for every expression.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from gpu_constructs.placement.query.analysis import (
    Matching,
    conditions,
    families_matched,
    instance_type_patterns,
    matching,
    satisfiable,
)
from gpu_constructs.placement.query.ast import And, Comparison, Condition, Exists, In, Matches, Not, Or, Query
from gpu_constructs.placement.query.automaton import why_not_judged
from gpu_constructs.placement.query.build import (
    all_of,
    any_of,
    attribute_absent,
    attribute_equals,
    attribute_exists,
    attribute_in,
    attribute_not_equals,
    attribute_not_in,
    expressions,
    instance_type_in,
    matches,
    not_,
    runs_task_group,
)
from gpu_constructs.placement.query.contradiction import Contradiction, contradicts
from gpu_constructs.placement.query.errors import QuerySyntaxError
from gpu_constructs.placement.query.evaluate import Verdict, evaluate, judge
from gpu_constructs.placement.query.hosts import BUILT_IN_ATTRIBUTES, Host, host_of
from gpu_constructs.placement.query.limits import MAX_CONSTRAINTS, MAX_EXPRESSION_LENGTH
from gpu_constructs.placement.query.parser import parse
from gpu_constructs.placement.query.printer import describe, render
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator, Subject

__all__ = [
    "BUILT_IN_ATTRIBUTES",
    "MAX_CONSTRAINTS",
    "MAX_EXPRESSION_LENGTH",
    "And",
    "Attribute",
    "Comparison",
    "Condition",
    "Contradiction",
    "Exists",
    "Field",
    "Host",
    "In",
    "Matches",
    "Matching",
    "Not",
    "Operator",
    "Or",
    "Query",
    "QuerySyntaxError",
    "Subject",
    "Verdict",
    "all_of",
    "any_of",
    "attribute_absent",
    "attribute_equals",
    "attribute_exists",
    "attribute_in",
    "attribute_not_equals",
    "attribute_not_in",
    "conditions",
    "contradicts",
    "describe",
    "evaluate",
    "expressions",
    "families_matched",
    "host_of",
    "instance_type_in",
    "instance_type_patterns",
    "judge",
    "matches",
    "matching",
    "not_",
    "parse",
    "render",
    "runs_task_group",
    "satisfiable",
    "why_not_judged",
]

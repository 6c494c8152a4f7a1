"""The ECS cluster query language: which hosts does a ``memberOf`` placement constraint accept?

An expression is read from text (`parse`), printed (`render`) and judged for a host: `evaluate`, and `judge` with the
reasons of what cannot be known. ``parse(render(query)) == query`` for every expression.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from gpu_constructs.placement.query.ast import And as And
from gpu_constructs.placement.query.ast import Comparison as Comparison
from gpu_constructs.placement.query.ast import Exists as Exists
from gpu_constructs.placement.query.ast import In as In
from gpu_constructs.placement.query.ast import Matches as Matches
from gpu_constructs.placement.query.ast import Not as Not
from gpu_constructs.placement.query.ast import Or as Or
from gpu_constructs.placement.query.ast import Query as Query
from gpu_constructs.placement.query.ast import render as render
from gpu_constructs.placement.query.evaluate import Host as Host
from gpu_constructs.placement.query.evaluate import evaluate as evaluate
from gpu_constructs.placement.query.evaluate import host_of as host_of
from gpu_constructs.placement.query.evaluate import judge as judge
from gpu_constructs.placement.query.parser import QuerySyntaxError as QuerySyntaxError
from gpu_constructs.placement.query.parser import parse as parse
from gpu_constructs.placement.query.subjects import Attribute as Attribute
from gpu_constructs.placement.query.subjects import Field as Field
from gpu_constructs.placement.query.subjects import Operator as Operator

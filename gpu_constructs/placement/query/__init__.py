"""The ECS cluster query language: which hosts does a ``memberOf`` placement constraint accept?

`parser` reads an expression from text, `ast` has it as a tree and prints it, and `evaluate` judges it for a host, with
the reasons of what cannot be known; `subjects` says what it can ask about. ``parse(render(query)) == query`` for every
expression.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from gpu_constructs.placement.query.parser import QuerySyntaxError

__all__ = ["QuerySyntaxError"]

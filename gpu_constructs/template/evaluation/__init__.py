"""The middle of reading: plain values as stacks, with CloudFormation's functions worked out.

`composition` makes all templates of one call into stacks; each is a `scope` with `parameters` and the user's `answers`
to them, `conditions`, `functions` and `loops`, and all share one `world` with its `exports`. Out comes the `model`.
"""

from gpu_constructs.template.evaluation.answers import Choice
from gpu_constructs.template.evaluation.composition import composed

__all__ = ["Choice", "composed"]

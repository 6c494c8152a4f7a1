"""What do CloudFormation's functions come to? The second step of reading: plain values become stacks.

`assemble` makes the templates of one call into stacks. Each template has an `evaluator`, which works out its
`parameters` and calls `functions`. What all templates have in common is in `shared`: their exports, the remarks and the
budget. Out comes the `stack`. `choices` says which parameters could have other values.
"""

from gpu_constructs.template.evaluation.assemble import Stacks, assembled

__all__ = ["Stacks", "assembled"]

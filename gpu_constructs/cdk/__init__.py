"""How do we meet CDK? What users give, tokens, constructs made whole or not at all, refusals, the check at synth."""

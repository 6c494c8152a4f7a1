"""How do we meet CDK: what users give, tokens, constructs made whole or not at all, and the check at synth."""

"synth?"

__all__ = []

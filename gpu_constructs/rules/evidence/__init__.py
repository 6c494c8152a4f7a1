"""Evidence: what several rules look at, worked out once. This room holds no rules."""

__all__ = []

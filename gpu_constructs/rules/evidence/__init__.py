"""Evidence: what do several rules look at? It is worked out once here; this room holds no rules."""

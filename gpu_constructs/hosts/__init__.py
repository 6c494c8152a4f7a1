"""What do all hosts of one cluster share? Network, roles, and a place in the cluster's list of capacity providers."""

__all__ = []

"""What the hosts of one cluster share, whoever launches them: network, roles, and a place in the cluster's list."""

__all__ = []

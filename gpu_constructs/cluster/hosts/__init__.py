"""What do all hosts of one cluster share? Network, roles, and a place in the cluster's list of capacity providers.

`cluster_hosts` puts it together: `network`, `permissions`, and `association`, the list of capacity providers. What
users give is checked by `given_cluster`, `providers` and `network`.
"""

"""Which hosts does a cluster have, how are they bought and started, and what watches them?

`gpu_cluster` is the construct. `hosts` is what all hosts of a cluster share, `capacity` the hosts of Auto Scaling
groups, `managed` ECS Managed Instances, `monitoring` what is measured of the GPUs and what happens when one fails.
"""

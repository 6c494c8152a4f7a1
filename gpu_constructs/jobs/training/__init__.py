"""How do several hosts train as one?

`multi_node_training` is one on AWS Batch, `cluster_training` one on a cluster of ECS, with `gang_plan` and the
`gang_states` that run it. Both start their processes by a `training_launcher`, and share `training_checks`.
"""

__all__ = []

"""How do several hosts train as one?

On AWS Batch, `multi_node_training` puts the resources together, and `training_plan` refuses a gang that cannot start;
on a cluster of ECS, `cluster_training` and `gang_plan` do the same, and `gang_states` are what runs the gang. By the
`training_launcher` with its `launcher_script`, the processes of the hosts find each other.
"""

__all__ = []

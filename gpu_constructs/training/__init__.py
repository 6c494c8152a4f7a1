"""How do several hosts train as one?

`multi_node_training` puts the resources together; `training_plan` refuses a gang that cannot start. By the
`training_launcher` with its `launcher_script`, the processes of the hosts find each other.
"""

__all__ = []

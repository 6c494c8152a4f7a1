"""How do several hosts train as one?

`multi_node_training` puts the resources together; `training_plan` refuses a gang that cannot start; `launch` and
`launcher` are how the processes of its hosts find each other.
"""

__all__ = []

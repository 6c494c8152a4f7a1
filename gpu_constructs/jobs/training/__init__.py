"""How do several hosts train as one?

`multi_node_training` is the construct, a job of AWS Batch. A `training_launcher` starts its processes, and
`training_checks` refuses what cannot start.
"""

__all__ = []

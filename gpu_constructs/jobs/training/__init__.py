"""How do several hosts train as one?

`multi_node_training` is the construct, a job of AWS Batch, and a `training_launcher` starts its processes.
"""

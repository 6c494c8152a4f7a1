"""Tasks: where one lands, what its containers ask of a host, and the task definition that it becomes.

`landing` says what the capacities of a task allow, `gpu_ask`, `gpu_share` and `gpu_needs` what a container asks for,
`container_plan` and `neuron_container` check it against every host, and `task_definition` makes it.
"""

__all__ = []

"""What do the containers of a task ask of a host, where can it go, and which task definition does it become?

`task_target` says what the capacities of a task allow, `gpu_ask`, `gpu_share`, `gpu_needs` and `efa_container` what a
container asks for, `host_share` and `fit` what a host has for it. `gpu_container`, `neuron_container` and `sidecar` are
the three kinds of container, checked against every host by `container_plan`; `task_definition` makes them, and
`model_container` those that serve a model.
"""

__all__ = []

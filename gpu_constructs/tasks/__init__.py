"""What do the containers of a task ask of a host, where can it go, and which task definition does it become?

`task_target` says what the capacities of a task allow, `gpu_ask` and `container_options` what a container asks for,
`host_share` what a host has for it. `container_plan` checks a container against every host, `accelerated_container` one
with accelerators. `task_definition` has the methods that users call, and `counted_containers` what they add up to, with
the containers without accelerators. `served_memory` asks whether the GPUs hold a model that is served, `models`
has servers and caches, and `workload` is what services, jobs and tasks started by hand have in common.
"""

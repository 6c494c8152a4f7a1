"""What can I say about the hosts of an Auto Scaling group, and which resources do they become?

`choice` is what a user asks for, `plan` checks the whole of it before anything is made, `gpu_capacity` makes its
resources. `part` is what `purchase`, `scaling`, `storage`, `network` and `boot_check` have in common: scaling has
`host_replacement` and `warm_hosts`, storage has `host_mounts` and `local_disks`. `images` has the machine images,
`fallback` an order of several capacities, and `imported_capacity` the capacity of another stack or app.
"""

__all__ = []

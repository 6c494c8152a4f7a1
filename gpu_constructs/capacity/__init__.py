"""What can I say about the hosts of an Auto Scaling group, and which resources do they become?

`choice` is what a user asks for, `plan` checks the whole of it before anything is made, `gpu_capacity` makes its
resources. `part` is what `purchase`, `scaling`, `storage`, `network` and `boot_check` have in common. `images` has the
machine images, and `fallback` an order of several capacities.
"""

__all__ = []

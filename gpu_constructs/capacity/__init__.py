"""What can I say about the hosts of an Auto Scaling group, and which resources do they become?

`choice` is what a user asks for, `plan` checks the whole of it before anything is made, `gpu_capacity` puts the
resources together; each of the others is one part of a capacity: `images`, `purchase`, `scaling`, `storage`, `network`,
`boot_check`, and `fallback` for an order of several.
"""

__all__ = []

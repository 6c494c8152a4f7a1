"""What can I say about the hosts of an Auto Scaling group, and which resources do they become?

`plan` has what a user asks for and checks the whole of it before anything is made, `gpu_capacity` makes its resources
and knows the capacity of another stack or app. `part` is what `purchase`, `scaling`, `storage` and `network`
have in common: storage has `host_mounts` and `local_disks`. `images` has
the machine images, `user_data` what the first boot of a host does, and `several` the capacities of a family or an
order.
"""

"""What can I say about ECS Managed Instances, the hosts that ECS chooses, patches and replaces itself?

`managed_gpu_capacity` checks the whole before anything is made and puts the resources together, `options` are what a
capacity can be asked to be, with the instance types that ECS may choose.
"""

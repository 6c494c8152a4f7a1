"""What can I say about ECS Managed Instances, the hosts that ECS chooses, patches and replaces itself?

`plan` checks the whole before anything is made, `managed_gpu_capacity` puts the resources together; `need`, `purchase`,
`storage` and `operation` are what a capacity can be asked to be, and `requirements` says which instance types ECS may
choose.
"""

__all__ = []

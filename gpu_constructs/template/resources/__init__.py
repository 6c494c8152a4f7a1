"""Which pools, tasks and workloads are these resources? The last step of reading, a file for each kind of resource.

`fleet` asks the readers: `tasks`, `services`, `clusters`, `pools` with their `groups`, `purchases` and
`launch` templates, whose `user_data` may hold an `agent_script`. Work that ends is in `calls`, in `state_machines`,
and on AWS Batch in `batch_hosts` and `submissions`. `networks` with their security groups and `roles` are what hosts
and tasks need around them. The readers find each other through the `index` and read properties as a `section`, which
notes what is odd and never raises.
"""

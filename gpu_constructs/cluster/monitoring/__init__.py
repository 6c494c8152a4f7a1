"""What do the GPUs of a cluster do, what waits for them, and what fails?

`gpu_monitoring` is the construct that `GpuCluster.add_monitoring` makes of its `options`. `events` lists what is
measured, and keeps and counts what ECS reports. `watched` is the cluster as plain values, from which
`dashboard` and `alarms` are made. `recovery` drains and replaces hosts, as `recovery_states` says.

`daemon_task` is the task that measures, one on each host. Its program is `collector`, as text in the task definition.
"""

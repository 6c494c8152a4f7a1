"""What do the GPUs of a cluster do, what waits for them, and what fails?

`gpu_monitoring` is the construct that `GpuCluster.add_monitoring` makes of its `options`. `events` lists what is
measured, and keeps and counts what ECS and EC2 report. `watched` is the cluster as plain values, from which
`dashboard` and `alarms` are made. `recovery` drains and replaces hosts: `which_host` and `draining` are parts of its
state machine.

`daemon_task` is the task that measures, one on each host. Its program is `readings`, `ecs_host`, `driver` and
`collector`, one after the other, as text in the task definition.
"""

__all__ = []

"""What do the GPUs of a cluster do, what waits for them, and what fails?

`gpu_monitoring` is the construct that `GpuCluster.add_monitoring` makes. `metrics` is the table of what is measured, by
the script `collector` in the tasks of `daemon`. `cluster_events` keeps what ECS reports, and `event_counts` says what
of it is counted. `widgets` is the dashboard and `alarm_table` the alarms, both as plain values over what is `watched`.
`recovery` drains and replaces hosts.
"""

__all__ = []

"""What do the GPUs of a cluster do, what waits for them, and what fails?

`gpu_monitoring` is the construct that `GpuCluster.add_monitoring` makes. `daemon` measures what the table `metrics`
lists. `cluster_events` keeps what ECS and EC2 report, and `counted_events` lists what of it is counted. `watched` is
the cluster as plain values, from which `dashboard` and `alarms` are made. `recovery` drains and replaces hosts.
"""

__all__ = []

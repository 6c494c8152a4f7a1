"""What happens to a host whose GPU fails, or which EC2 is about to take back?

`gpu_recovery` is the construct that `GpuMonitoring.add_recovery` makes, and `definition` its state machine, of which
`which_host`, `draining` and `replacement` are the parts.
"""

__all__ = []

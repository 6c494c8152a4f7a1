"""What do the GPUs of a host do, for which tasks, and which of them fail?

`daemon_task` is the task that finds out, one on each host. Its program is `readings`, `ecs_host`, `driver` and
`collector`, one after the other, as text in the task definition.
"""

__all__ = []

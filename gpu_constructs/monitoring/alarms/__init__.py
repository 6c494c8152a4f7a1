"""When do the alarms of a monitored cluster go off, and what is to be done then?

`alarm_limits` are the arguments, `alarm_table` is every alarm as a plain value, and `cluster_alarms` are the resources.
"""

__all__ = []

"""What parts of this library say to each other through AWS: events of the daemon, and reasons of stopped tasks."""

from __future__ import annotations

FAULT_SOURCE = "gpu-constructs"
"""Source of the events that the daemon sends to the default event bus, one for each fault of a GPU."""

FAULT_DETAIL_TYPE = "GPU Fault"
"""Their detail type. The detail has ``clusterArn``, ``containerInstanceArn``, ``ec2InstanceId``,
``capacityProviderName``, ``gpuIndex``, ``gpuUuid``, ``xid`` and ``reason``; null where it is not known.
"""

PASSED_ITS_TIME_LIMIT = "it passed its time limit"
"""How the reason begins with which a job stops the task of an attempt that takes too long."""

STOPPED_BY_RECOVERY = "GPU recovery: "
"""How the reason begins with which the recovery stops a task. A `GpuJob` counts it as the loss of its host."""

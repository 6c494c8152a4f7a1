"""Which events do ECS and EC2 send to EventBridge, and which stop codes do tasks have?"""

from __future__ import annotations

TASK_STATE = "ECS Task State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html"""
HOST_HEALTH = "ECS Container Instance Health Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_container_instance_health_events.html"""
SERVICE_ACTION = "ECS Service Action"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_events.html"""
DEPLOYMENT_STATE = "ECS Deployment State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_deployment_events.html"""

SPOT_WARNING = "EC2 Spot Instance Interruption Warning"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""
REBALANCE_RECOMMENDATION = "EC2 Instance Rebalance Recommendation"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html"""
BLOCK_WARNINGS = ("Capacity Block Expiration Warning", "Capacity Block Reservation Expiration Warning")
"""EC2 sends it 40 minutes before a Capacity Block ends. Editions of its page have one name or the other.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
"""

LOST_HOST = ("InfrastructureHealth", "SpotInterruption", "TerminationNotice")
"""Stop codes of a task whose host is gone: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html"""
NOT_STARTED = "TaskFailedToStart"
"""The stop code of a task that ended before its containers ran."""
PLACEMENT_FAILURE = "SERVICE_TASK_PLACEMENT_FAILURE"
"""The name of a service's event that a task could not be placed."""

"""What is worth a warning: rules with stable ids over the fleet."""

from gpu_constructs.rules.cluster import provider_findings, subnet_findings
from gpu_constructs.rules.finding import Finding
from gpu_constructs.rules.pool import pool_findings
from gpu_constructs.rules.service import service_findings
from gpu_constructs.rules.task import task_findings

__all__ = [
    "Finding",
    "pool_findings",
    "provider_findings",
    "service_findings",
    "subnet_findings",
    "task_findings",
]

"""Warnings about where hosts run."""

from __future__ import annotations

from gpu_constructs.rules.finding import Finding

__all__ = ["PUBLIC_SUBNETS"]

PUBLIC_SUBNETS = Finding(
    rule="GPU008",
    message="hosts get no public address, and a public subnet has no other way out: they only reach ECS if the VPC has "
    "endpoints for it; choose private subnets with a NAT gateway",
)

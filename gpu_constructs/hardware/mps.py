"""NVIDIA MPS, through which containers share a GPU on ECS: which images serve it, and which GPUs it can divide."""

from __future__ import annotations

__all__ = ["FIRST_RELEASE", "LEAST_CAPABILITY"]

FIRST_RELEASE = "20260922"
"""Date of the first release of the Amazon Linux 2023 GPU image with ECS agent 1.107.0.

Agent 1.107.0 is the first that shares GPUs (https://github.com/aws/amazon-ecs-agent/releases/tag/v1.107.0); the public
SSM parameter of this image reports it.
"""

LEAST_CAPABILITY = (7, 0)
"""CUDA compute capability from which MPS limits the memory and the compute of each client (Volta).

https://docs.nvidia.com/deploy/mps/introduction.html
"""

"""NVIDIA MPS, through which containers share a GPU on ECS: which images serve it, and which GPUs it can divide."""

from __future__ import annotations

FIRST_AGENT = "1.107.0"
"""The first ECS agent that shares GPUs (https://github.com/aws/amazon-ecs-agent/releases/tag/v1.107.0).

It offers that where ``/usr/bin/nvidia-cuda-mps-control`` is there, `SERVICE` is enabled and no GPU is a vGPU, as those
of G6f and Gr6f are (https://github.com/aws/amazon-ecs-agent, ecs-init/gpu/nvidia_gpu_manager.go, read on 2026-11-22).
"""

SERVICE = "nvidia-mps.service"

FIRST_RELEASE = "20260922"
"""Date of the first release of the Amazon Linux 2023 GPU image with ECS agent 1.107.0.

The public SSM parameter of this image reports it.
"""

LEAST_CAPABILITY = (7, 0)
"""CUDA compute capability from which MPS limits the memory and the compute of each client (Volta).

https://docs.nvidia.com/deploy/mps/introduction.html
"""

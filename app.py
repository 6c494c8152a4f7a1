"""The reference app: `cdk deploy tensorflow-benchmark` or `cdk deploy nvidia-smi`."""

from __future__ import annotations

import sys

import aws_cdk as cdk

from gpu_constructs import GpuConstructsError, acknowledge_aws_solutions
from stacks.nvidia_smi import NvidiaSmiStack
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack

app = cdk.App()

# One type, or several of one shape: cdk deploy tensorflow-benchmark -c gpu_instance_type=g6.48xlarge
gpu_instance_type = app.node.try_get_context("gpu_instance_type")
gpu_instance_types = [each.strip() for each in str(gpu_instance_type or "g6.xlarge").split(",")]

try:
    TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=gpu_instance_types)
except GpuConstructsError as error:
    sys.exit(f"error: gpu_instance_type={gpu_instance_type}: {error}")

NvidiaSmiStack(app, "nvidia-smi")
acknowledge_aws_solutions(app)
app.synth()

"""The reference app: `cdk deploy tensorflow-benchmark`, `cdk deploy nvidia-smi`."""

from __future__ import annotations

import aws_cdk as cdk

from stacks.nvidia_smi import NvidiaSmiStack
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack

app = cdk.App()
gpu_instance_type = str(app.node.try_get_context("gpu_instance_type") or "g6.xlarge")
TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=gpu_instance_type.split(","))
NvidiaSmiStack(app, "nvidia-smi")
app.synth()

"""The reference app: `cdk deploy tensorflow-benchmark`, or another of its stacks."""

from __future__ import annotations

import json
import sys
from datetime import datetime

import aws_cdk as cdk

from gpu_constructs import GpuConstructsError, acknowledge_aws_solutions
from stacks.benchmark_jobs import BenchmarkJobsStack
from stacks.chat import ChatStack
from stacks.existing_cluster import ExistingClusterStack
from stacks.fine_tuning import FineTuningStack
from stacks.four_families import FourFamiliesStack
from stacks.image_queue import ImageQueueStack
from stacks.nvidia_smi import NvidiaSmiStack
from stacks.pre_training import PreTrainingStack
from stacks.recommender import RecommenderStack
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack

app = cdk.App()
context = app.node.try_get_context

# One type, or several of one shape: cdk deploy tensorflow-benchmark -c gpu_instance_type=g6.48xlarge
gpu_instance_type = context("gpu_instance_type")
gpu_instance_types = [each.strip() for each in str(gpu_instance_type or "g6.xlarge").split(",")]

try:
    TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=gpu_instance_types)
except GpuConstructsError as error:
    sys.exit(f"error: gpu_instance_type={gpu_instance_type}: {error}")

NvidiaSmiStack(app, "nvidia-smi")
ChatStack(app, "chat", model=context("chat_model") or "Qwen/Qwen2.5-7B-Instruct")
ImageQueueStack(app, "image-queue", max_instances=int(context("image_queue_hosts") or 4))
RecommenderStack(app, "recommender", hosts=int(context("recommender_hosts") or 4))
BenchmarkJobsStack(app, "benchmark-jobs", family=context("benchmark_family") or "g6")
FourFamiliesStack(app, "four-families")
FineTuningStack(app, "fine-tuning", instance_types=["p4de.24xlarge", "p5.48xlarge"])
if context("capacity_block"):
    zone, ends = context("capacity_block_zone"), datetime.fromisoformat(context("capacity_block_ends"))
    PreTrainingStack(app, "pre-training", reservation_id=context("capacity_block"), zone=zone, ends=ends)
if context("existing_cluster"):
    cluster, subnets = json.loads(context("existing_cluster")), json.loads(context("existing_subnets"))
    hosts = int(context("existing_cluster_hosts") or 2)
    ExistingClusterStack(app, "existing-cluster", cluster=cluster, subnets=subnets, max_instances=hosts)
acknowledge_aws_solutions(app)
app.synth()

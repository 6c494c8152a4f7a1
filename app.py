"""The reference app: `cdk deploy tensorflow-benchmark`, or another of its stacks."""

from __future__ import annotations

import aws_cdk as cdk

from gpu_constructs import acknowledge_aws_solutions
from stacks.benchmark_jobs import BenchmarkJobsStack
from stacks.chat import ChatStack
from stacks.existing_cluster import ExistingClusterStack
from stacks.fine_tuning import FineTuningStack
from stacks.four_families import FourFamiliesStack
from stacks.given import Given
from stacks.image_queue import ImageQueueStack
from stacks.nvidia_smi import NvidiaSmiStack
from stacks.pre_training import PreTrainingStack
from stacks.recommender import RecommenderStack
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack
from stacks.watched import WatchedStack

app = cdk.App()
given = Given(app)

# One type, or several of one shape: cdk deploy tensorflow-benchmark -c gpu_instance_type=g6.48xlarge
types = [each.strip() for each in given.text("gpu_instance_type", "g6.xlarge").split(",")]
with given.refused_for("gpu_instance_type"):
    TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=types)
NvidiaSmiStack(app, "nvidia-smi")
with given.refused_for("chat_model"):
    ChatStack(app, "chat", model=given.text("chat_model", "Qwen/Qwen2.5-7B-Instruct"))
with given.refused_for("image_queue_hosts"):
    ImageQueueStack(app, "image-queue", max_instances=given.whole("image_queue_hosts", 4))
with given.refused_for("recommender_hosts"):
    RecommenderStack(app, "recommender", hosts=given.whole("recommender_hosts", 4))
with given.refused_for("benchmark_family"):
    BenchmarkJobsStack(app, "benchmark-jobs", family=given.text("benchmark_family", "g6"))
FourFamiliesStack(app, "four-families")
FineTuningStack(app, "fine-tuning", instance_types=["p4de.24xlarge", "p5.48xlarge"])
WatchedStack(app, "watched", email=given.text("watched_email", "gpus@example.com"))
if block := given.text("capacity_block"):
    zone, ends = given.text("capacity_block_zone"), given.time("capacity_block_ends")
    with given.refused_for("capacity_block"):
        PreTrainingStack(app, "pre-training", reservation_id=block, zone=zone, ends=ends)
if given.text("existing_cluster"):
    fields = ("clusterName", "capacityProviders", "defaultCapacityProviderStrategy")
    cluster = given.printed("existing_cluster", *fields)[0]
    subnets = given.printed("existing_subnets", "SubnetId", "AvailabilityZone", "VpcId")
    hosts = given.whole("existing_cluster_hosts", 2)
    with given.refused_for("existing_cluster"):
        ExistingClusterStack(app, "existing-cluster", cluster=cluster, subnets=subnets, max_instances=hosts)
acknowledge_aws_solutions(app)
app.synth()

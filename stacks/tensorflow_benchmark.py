"""The mixed cluster of "Scheduling GPUs for deep learning tasks on Amazon ECS": train on 1, 4 or 8 GPUs of one host."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs import GpuCapacity, GpuCluster, GpuTaskDefinition, IncompatibleError
from stacks.network import demo_vpc

__all__ = ["BENCHMARK", "IMAGE", "TensorflowBenchmarkStack"]

IMAGE = "tensorflow/tensorflow:2.19.0-gpu"
_TASKS: Mapping[int, str] = MappingProxyType({1: "Tensorflow1Gpu", 4: "Tensorflow4Gpu", 8: "Tensorflow8Gpu"})

# One training step after another on whatever GPUs the task sees; prints images per second like the benchmark of 2019.
BENCHMARK = """
import time, tensorflow as tf
gpus = tf.config.list_logical_devices("GPU")
print("devices:", [gpu.name for gpu in gpus])
strategy = tf.distribute.MirroredStrategy()
batch = 64 * max(1, len(gpus))
with strategy.scope():
    model = tf.keras.applications.ResNet50(weights=None)
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
images = tf.random.uniform((batch, 224, 224, 3))
labels = tf.random.uniform((batch,), maxval=1000, dtype=tf.int32)
data = tf.data.Dataset.from_tensors((images, labels)).repeat(20)
model.fit(data, verbose=0)
start = time.time()
model.fit(data, verbose=0)
print("total images/sec: %.2f" % (20 * batch / (time.time() - start)))
"""


class TensorflowBenchmarkStack(cdk.Stack):
    """Defines a cluster of CPU and GPU hosts, and a training task for each number of GPUs that its hosts have.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        gpu_instance_types: Instance types of the GPU hosts, all of one shape.
        **kwargs: Arguments of `cdk.Stack`.

    Raises:
        GpuConstructsError: The types cannot be one capacity, or have no whole NVIDIA GPU.
    """

    def __init__(self, scope: Construct, construct_id: str, *, gpu_instance_types: list[str], **kwargs: Any) -> None:
        super().__init__(
            scope, construct_id, description="TensorFlow training on 1, 4 or 8 GPUs of an ECS host", **kwargs
        )
        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        cpu = cluster.add_capacity("Cpu", instance_types=["c7i.2xlarge"], max_instances=2)
        gpu = cluster.add_capacity("Gpu", instance_types=gpu_instance_types, max_instances=2)

        if gpu.gpus == 0:
            raise IncompatibleError(
                f"a host of {', '.join(gpu_instance_types)} has no whole NVIDIA GPU, and every task here needs one",
                argument="gpu_instance_types",
                value=gpu_instance_types,
                fix="a type such as g6.xlarge",
            )

        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "StopTasks", value=f"gpu-constructs stop-tasks {self.stack_name}")
        cdk.CfnOutput(self, "CpuCapacityProvider", value=cpu.capacity_provider_name)
        cdk.CfnOutput(self, "GpuCapacityProvider", value=gpu.capacity_provider_name)
        for gpus, name in _TASKS.items():
            if gpus <= gpu.gpus:
                self._define_task(name, gpu, gpus)
            else:
                cdk.CfnOutput(
                    self,
                    f"{name}LeftOut",
                    value=f"this task needs {gpus} GPUs; GPUs of a host of {', '.join(gpu_instance_types)}: {gpu.gpus}",
                )

    def _define_task(self, name: str, gpu: GpuCapacity, gpus: int) -> None:
        task = GpuTaskDefinition(self, name, capacity=[gpu], family=f"tensorflow-{gpus}-gpu")
        task.add_gpu_container(
            "training",
            image=ecs.ContainerImage.from_registry(IMAGE),
            gpus=gpus,
            command=["python", "-c", BENCHMARK],
        )
        cdk.CfnOutput(self, f"{name}RunTask", value=task.run_task_command())

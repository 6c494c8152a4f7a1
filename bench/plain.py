"""The measured apps by hand, in plain aws-cdk-lib L2 constructs.

Written as someone would who knows CDK well and wants these very templates: what hosts and containers have in common is
made once and shared, everything else is the straightforward call. `bench.same` holds it to the library's templates.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from bench.plain_hosts import Shared, capacity
from bench.plain_pairs import Written, on_demand, with_gpus
from bench.plain_tasks import training_task
from bench.workloads import CONTAINER_IMAGE, Pair, Reference, Workload
from stacks.network import demo_vpc

__all__ = ["build"]

_TENSORFLOW = "tensorflow/tensorflow:2.19.0-gpu"
_GPU_TASKS = {1: "Tensorflow1Gpu", 4: "Tensorflow4Gpu", 8: "Tensorflow8Gpu"}
_TRAINING = """
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


def build(app: cdk.Stage, workload: Workload) -> None:
    """Defines the stacks of a workload in an app, or in a stage of one."""
    if workload.reference:
        _TensorflowBenchmark(app, "tensorflow-benchmark", reference=workload.reference)
        return
    shared = demo_vpc(cdk.Stack(app, "network")) if len(workload.clusters) > 1 else None
    for number, clusters in enumerate(workload.stacks()):
        _FleetStack(app, f"fleet-{number}", clusters=clusters, vpc=shared, kind=workload.kind)


class _TensorflowBenchmark(cdk.Stack):
    """The reference stack: CPU and GPU hosts, and a training task for each number of GPUs that the hosts have."""

    def __init__(self, scope: cdk.Stage, construct_id: str, *, reference: Reference) -> None:
        super().__init__(scope, construct_id, description="TensorFlow training on 1, 4 or 8 GPUs of an ECS host")
        gpu_hosts = reference.gpu_hosts
        shared = Shared.define(self, "", demo_vpc(self))
        cpu = capacity(self, "Cpu", shared, reference.cpu_hosts, warmup_seconds=300, max_instances=2)
        gpu = capacity(self, "Gpu", shared, gpu_hosts, warmup_seconds=600, max_instances=2)

        cdk.CfnOutput(self, "ClusterName", value=shared.cluster.cluster_name)
        cdk.CfnOutput(self, "StopTasks", value=f"gpu-constructs stop-tasks {self.stack_name}")
        cdk.CfnOutput(self, "CpuCapacityProvider", value=cpu.provider.capacity_provider_name)
        cdk.CfnOutput(self, "GpuCapacityProvider", value=gpu.provider.capacity_provider_name)
        image = ecs.ContainerImage.from_registry(_TENSORFLOW)
        for gpus, name in _GPU_TASKS.items():
            if gpus > gpu_hosts.gpus:
                types = ", ".join(gpu_hosts.instance_types)
                text = f"this task needs {gpus} GPUs; GPUs of a host of {types}: {gpu_hosts.gpus}"
                cdk.CfnOutput(self, f"{name}LeftOut", value=text)
                continue
            task = training_task(
                self,
                name,
                family=f"tensorflow-{gpus}-gpu",
                image=image,
                hosts=gpu_hosts,
                gpus=gpus,
                command=["python", "-c", _TRAINING],
            )
            cdk.CfnOutput(
                self,
                f"{name}RunTask",
                value=f"aws ecs run-task --cluster {shared.cluster.cluster_name} --task-definition {task.family} "
                f"--capacity-provider-strategy capacityProvider={gpu.provider.capacity_provider_name},weight=1 "
                "--propagate-tags TASK_DEFINITION",
            )


class _FleetStack(cdk.Stack):
    """Clusters with some capacities, and a task for each."""

    def __init__(
        self, scope: cdk.Stage, construct_id: str, *, clusters: list[list[Pair]], vpc: ec2.Vpc | None, kind: str | None
    ) -> None:
        super().__init__(scope, construct_id)
        own = vpc or demo_vpc(self)
        image = ecs.ContainerImage.from_registry(CONTAINER_IMAGE)
        written = _written(kind)
        for number, pairs in enumerate(clusters):
            shared = Shared.define(self, str(number), own)
            for pair in pairs:
                written.capacity(self, shared, pair)
                written.task(self, pair, image)


def _written(kind: str | None) -> Written:
    if kind is None:
        return Written(on_demand, with_gpus)
    # Knows the scripts of the library, which must not count as memory of the other apps.
    from bench.kinds_plain import WRITTEN  # noqa: PLC0415

    return WRITTEN[kind]

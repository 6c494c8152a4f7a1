"""GPU workloads on Amazon ECS as CDK constructs, proved to fit before anything is deployed.

::

    cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc"))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=8)

    chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
    chat.add_gpu_container("vllm", image=image, gpus=1, gpu_memory_gib=16)
    GpuService(self, "ChatService", cluster=cluster, task_definition=chat, desired_count=2)

A task that no host of its capacity can run does not get past the line that defines it. The rooms behind the front door
(``hardware``, ``fleet``, ``placement``, ``rules``) are plain Python: importing them starts no Node process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpu_constructs.errors import __version__ as __version__

if TYPE_CHECKING:
    from gpu_constructs.batch.job_options import BatchRetries as BatchRetries
    from gpu_constructs.batch.job_options import FairShares as FairShares
    from gpu_constructs.batch.queue import GpuBatchJob as GpuBatchJob
    from gpu_constructs.batch.queue import GpuBatchQueue as GpuBatchQueue
    from gpu_constructs.capacity.choice import CapacityChoice as CapacityChoice
    from gpu_constructs.capacity.gpu_capacity import GpuCapacity as GpuCapacity
    from gpu_constructs.capacity.gpu_capacity import ImportedGpuCapacity as ImportedGpuCapacity
    from gpu_constructs.capacity.host_mounts import HostMount as HostMount
    from gpu_constructs.capacity.host_replacement import HostReplacement as HostReplacement
    from gpu_constructs.capacity.images import GpuMachineImage as GpuMachineImage
    from gpu_constructs.capacity.network import HostNetwork as HostNetwork
    from gpu_constructs.capacity.purchase import Purchase as Purchase
    from gpu_constructs.capacity.scaling import HostScaling as HostScaling
    from gpu_constructs.capacity.scaling import WarmHosts as WarmHosts
    from gpu_constructs.capacity.several import FallbackCapacity as FallbackCapacity
    from gpu_constructs.capacity.several import FamilyCapacity as FamilyCapacity
    from gpu_constructs.capacity.storage import HostStorage as HostStorage
    from gpu_constructs.cdk.validation import GpuBudget as GpuBudget
    from gpu_constructs.cdk.validation import GpuChecks as GpuChecks
    from gpu_constructs.cluster import GpuCluster as GpuCluster
    from gpu_constructs.errors import DoesNotFitError as DoesNotFitError
    from gpu_constructs.errors import GpuConstructsError as GpuConstructsError
    from gpu_constructs.errors import IncompatibleError as IncompatibleError
    from gpu_constructs.errors import InvalidValueError as InvalidValueError
    from gpu_constructs.errors import RefusedByCdkError as RefusedByCdkError
    from gpu_constructs.errors import UnknownNameError as UnknownNameError
    from gpu_constructs.hardware.declared import DeclaredInstanceType as DeclaredInstanceType
    from gpu_constructs.hardware.declared import declare_instance_types as declare_instance_types
    from gpu_constructs.jobs.data import JobData as JobData
    from gpu_constructs.jobs.gpu_job import GpuJob as GpuJob
    from gpu_constructs.jobs.job_run import JobRetries as JobRetries
    from gpu_constructs.managed.managed_gpu_capacity import ManagedGpuCapacity as ManagedGpuCapacity
    from gpu_constructs.managed.options import HostNeed as HostNeed
    from gpu_constructs.managed.options import ManagedOperation as ManagedOperation
    from gpu_constructs.managed.options import ManagedPurchase as ManagedPurchase
    from gpu_constructs.managed.options import ManagedStorage as ManagedStorage
    from gpu_constructs.models.model_cache import ModelCache as ModelCache
    from gpu_constructs.models.model_server import ModelServer as ModelServer
    from gpu_constructs.monitoring.gpu_monitoring import GpuMonitoring as GpuMonitoring
    from gpu_constructs.monitoring.options import AlarmLimits as AlarmLimits
    from gpu_constructs.security.aws_solutions import acknowledge_aws_solutions as acknowledge_aws_solutions
    from gpu_constructs.security.host_endpoints import HostEndpoints as HostEndpoints
    from gpu_constructs.service import GpuService as GpuService
    from gpu_constructs.serving.cpu_service import CpuService as CpuService
    from gpu_constructs.serving.scaling import ScaleBy as ScaleBy
    from gpu_constructs.tasks.container_options import ContainerOptions as ContainerOptions
    from gpu_constructs.tasks.gpu_ask import GpuShare as GpuShare
    from gpu_constructs.tasks.task_definition import GpuTaskDefinition as GpuTaskDefinition
    from gpu_constructs.training.cluster_training import ClusterTraining as ClusterTraining
    from gpu_constructs.training.multi_node_training import MultiNodeTraining as MultiNodeTraining
    from gpu_constructs.training.training_launcher import TrainingLauncher as TrainingLauncher

# Loaded when first asked for: importing aws_cdk starts a Node process, which the pure rooms do without.
_HOME = {
    "AlarmLimits": "monitoring.options",
    "BatchRetries": "batch.job_options",
    "CapacityChoice": "capacity.choice",
    "ClusterTraining": "training.cluster_training",
    "ContainerOptions": "tasks.container_options",
    "CpuService": "serving.cpu_service",
    "DeclaredInstanceType": "hardware.declared",
    "DoesNotFitError": "errors",
    "FairShares": "batch.job_options",
    "FallbackCapacity": "capacity.several",
    "FamilyCapacity": "capacity.several",
    "GpuBatchJob": "batch.queue",
    "GpuBatchQueue": "batch.queue",
    "GpuBudget": "cdk.validation",
    "GpuCapacity": "capacity.gpu_capacity",
    "GpuChecks": "cdk.validation",
    "GpuCluster": "cluster",
    "GpuConstructsError": "errors",
    "GpuJob": "jobs.gpu_job",
    "GpuMachineImage": "capacity.images",
    "GpuMonitoring": "monitoring.gpu_monitoring",
    "GpuService": "service",
    "GpuShare": "tasks.gpu_ask",
    "GpuTaskDefinition": "tasks.task_definition",
    "HostEndpoints": "security.host_endpoints",
    "HostMount": "capacity.host_mounts",
    "HostNeed": "managed.options",
    "HostNetwork": "capacity.network",
    "HostReplacement": "capacity.host_replacement",
    "HostScaling": "capacity.scaling",
    "HostStorage": "capacity.storage",
    "ImportedGpuCapacity": "capacity.gpu_capacity",
    "IncompatibleError": "errors",
    "InvalidValueError": "errors",
    "JobData": "jobs.data",
    "JobRetries": "jobs.job_run",
    "ManagedGpuCapacity": "managed.managed_gpu_capacity",
    "ManagedOperation": "managed.options",
    "ManagedPurchase": "managed.options",
    "ManagedStorage": "managed.options",
    "ModelCache": "models.model_cache",
    "ModelServer": "models.model_server",
    "MultiNodeTraining": "training.multi_node_training",
    "Purchase": "capacity.purchase",
    "RefusedByCdkError": "errors",
    "ScaleBy": "serving.scaling",
    "TrainingLauncher": "training.training_launcher",
    "UnknownNameError": "errors",
    "WarmHosts": "capacity.scaling",
    "acknowledge_aws_solutions": "security.aws_solutions",
    "declare_instance_types": "hardware.declared",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

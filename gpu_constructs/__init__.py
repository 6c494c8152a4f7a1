"""GPU workloads on Amazon ECS as CDK constructs, proved to fit before anything is deployed.

::

    cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc"))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=8)

    chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
    chat.add_gpu_container("vllm", image=image, gpus=1, gpu_memory_gib=16)
    GpuService(self, "ChatService", cluster=cluster, task_definition=chat, desired_count=2)

A task that no host of its capacity can run does not get past the line that defines it. The rooms behind the front door
(``facts``, ``fleet``, ``placement``, ``template``, ``rules``, ``check``) are plain Python: to import them starts no
Node process.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpu_constructs.errors import __version__ as __version__

if TYPE_CHECKING:
    from gpu_constructs.aws_solutions import acknowledge_aws_solutions as acknowledge_aws_solutions
    from gpu_constructs.cdk.validation import GpuBudget as GpuBudget
    from gpu_constructs.cdk.validation import GpuChecks as GpuChecks
    from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity as GpuCapacity
    from gpu_constructs.cluster.capacity.gpu_capacity import ImportedGpuCapacity as ImportedGpuCapacity
    from gpu_constructs.cluster.capacity.host_mounts import HostMount as HostMount
    from gpu_constructs.cluster.capacity.images import GpuMachineImage as GpuMachineImage
    from gpu_constructs.cluster.capacity.network import HostNetwork as HostNetwork
    from gpu_constructs.cluster.capacity.plan import CapacityChoice as CapacityChoice
    from gpu_constructs.cluster.capacity.purchase import Purchase as Purchase
    from gpu_constructs.cluster.capacity.scaling import HostReplacement as HostReplacement
    from gpu_constructs.cluster.capacity.scaling import HostScaling as HostScaling
    from gpu_constructs.cluster.capacity.scaling import WarmHosts as WarmHosts
    from gpu_constructs.cluster.capacity.storage import HostStorage as HostStorage
    from gpu_constructs.cluster.gpu_cluster import GpuCluster as GpuCluster
    from gpu_constructs.cluster.managed import ManagedGpuCapacity as ManagedGpuCapacity
    from gpu_constructs.cluster.managed import ManagedOperation as ManagedOperation
    from gpu_constructs.cluster.managed import ManagedStorage as ManagedStorage
    from gpu_constructs.cluster.monitoring.gpu_monitoring import GpuMonitoring as GpuMonitoring
    from gpu_constructs.cluster.monitoring.options import AlarmLimits as AlarmLimits
    from gpu_constructs.errors import DoesNotFitError as DoesNotFitError
    from gpu_constructs.errors import GpuConstructsError as GpuConstructsError
    from gpu_constructs.errors import IncompatibleError as IncompatibleError
    from gpu_constructs.errors import InvalidValueError as InvalidValueError
    from gpu_constructs.errors import RefusedByCdkError as RefusedByCdkError
    from gpu_constructs.errors import UnknownNameError as UnknownNameError
    from gpu_constructs.facts.declared import DeclaredInstanceType as DeclaredInstanceType
    from gpu_constructs.facts.declared import declare_instance_types as declare_instance_types
    from gpu_constructs.jobs.batch.job_options import BatchRetries as BatchRetries
    from gpu_constructs.jobs.batch.job_options import FairShares as FairShares
    from gpu_constructs.jobs.batch.queue import GpuBatchJob as GpuBatchJob
    from gpu_constructs.jobs.batch.queue import GpuBatchQueue as GpuBatchQueue
    from gpu_constructs.jobs.data import JobData as JobData
    from gpu_constructs.jobs.gpu_job import GpuJob as GpuJob
    from gpu_constructs.jobs.job_run import JobRetries as JobRetries
    from gpu_constructs.jobs.training.multi_node_training import MultiNodeTraining as MultiNodeTraining
    from gpu_constructs.jobs.training.training_launcher import TrainingLauncher as TrainingLauncher
    from gpu_constructs.services.cpu_service import CpuService as CpuService
    from gpu_constructs.services.gpu_service import GpuService as GpuService
    from gpu_constructs.services.scaling import ScaleBy as ScaleBy
    from gpu_constructs.tasks.container_options import ContainerOptions as ContainerOptions
    from gpu_constructs.tasks.gpu_ask import GpuShare as GpuShare
    from gpu_constructs.tasks.models.model_cache import ModelCache as ModelCache
    from gpu_constructs.tasks.models.model_server import ModelServer as ModelServer
    from gpu_constructs.tasks.task_definition import GpuTaskDefinition as GpuTaskDefinition

# Loaded when first asked for: importing aws_cdk starts a Node process, which the pure rooms do without.
_OF_MODULES = {
    "aws_solutions": ("acknowledge_aws_solutions",),
    "cdk.validation": ("GpuBudget", "GpuChecks"),
    "cluster.capacity.gpu_capacity": ("GpuCapacity", "ImportedGpuCapacity"),
    "cluster.capacity.host_mounts": ("HostMount",),
    "cluster.capacity.images": ("GpuMachineImage",),
    "cluster.capacity.network": ("HostNetwork",),
    "cluster.capacity.plan": ("CapacityChoice",),
    "cluster.capacity.purchase": ("Purchase",),
    "cluster.capacity.scaling": ("HostReplacement", "HostScaling", "WarmHosts"),
    "cluster.capacity.storage": ("HostStorage",),
    "cluster.gpu_cluster": ("GpuCluster",),
    "cluster.managed": ("ManagedGpuCapacity", "ManagedOperation", "ManagedStorage"),
    "cluster.monitoring.gpu_monitoring": ("GpuMonitoring",),
    "cluster.monitoring.options": ("AlarmLimits",),
    "errors": (
        "DoesNotFitError",
        "GpuConstructsError",
        "IncompatibleError",
        "InvalidValueError",
        "RefusedByCdkError",
        "UnknownNameError",
    ),
    "facts.declared": ("DeclaredInstanceType", "declare_instance_types"),
    "jobs.batch.job_options": ("BatchRetries", "FairShares"),
    "jobs.batch.queue": ("GpuBatchJob", "GpuBatchQueue"),
    "jobs.data": ("JobData",),
    "jobs.gpu_job": ("GpuJob",),
    "jobs.job_run": ("JobRetries",),
    "jobs.training.multi_node_training": ("MultiNodeTraining",),
    "jobs.training.training_launcher": ("TrainingLauncher",),
    "services.cpu_service": ("CpuService",),
    "services.gpu_service": ("GpuService",),
    "services.scaling": ("ScaleBy",),
    "tasks.container_options": ("ContainerOptions",),
    "tasks.gpu_ask": ("GpuShare",),
    "tasks.models.model_cache": ("ModelCache",),
    "tasks.models.model_server": ("ModelServer",),
    "tasks.task_definition": ("GpuTaskDefinition",),
}
_HOME = dict(sorted((name, module) for module, names in _OF_MODULES.items() for name in names))

__all__ = list(_HOME)

_OLDEST_CDK = (2, 259)
"""As ``pyproject.toml`` has it, which is not asked where only the command line was installed."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOME[name].partition(".")[0] not in {"errors", "facts"} and (old := _cdk_that_is_too_old()):
        raise ImportError(
            f"{name} needs aws-cdk-lib {'.'.join(map(str, _OLDEST_CDK))} or later, and {old} is installed; "
            "pip install --upgrade aws-cdk-lib"
        )
    try:
        value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as problem:
        if problem.name not in {"aws_cdk", "constructs", "jsii", "typing_extensions"}:
            raise
        raise ModuleNotFoundError(
            f"{name} needs aws-cdk-lib, which is not installed; pip install gpu-constructs, or in a checkout "
            "pip install '.[cdk]'",
            name=problem.name,
        ) from None
    globals()[name] = value
    return value


@cache
def _cdk_that_is_too_old() -> str | None:
    """The release of aws-cdk-lib, where it is too old: any may stand beside the command line alone."""
    # Loaded where a construct is asked for: the command line goes without.
    from importlib.util import find_spec  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    found = find_spec("aws_cdk")
    folders = [] if found is None else found.submodule_search_locations or []
    # The metadata of what is installed says it too, and takes 40 ms.
    names = (each.name for folder in folders for each in Path(folder, "_jsii").glob("aws-cdk-lib@*.jsii.tgz"))
    release = next(names, "").removeprefix("aws-cdk-lib@").removesuffix(".jsii.tgz")
    numbers = tuple(int(each) for each in release.split(".")[:2] if each.isdecimal())
    return release if numbers and numbers < _OLDEST_CDK else None


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

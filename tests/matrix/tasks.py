"""Capacities, task definitions and services of the matrix as constructs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ssm as ssm

from gpu_constructs import GpuCluster, GpuConstructsError, GpuService, GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity
from tests.matrix.asks import ASKS, PURCHASES, STORAGE, Ask, Host, Mode
from tests.matrix.case import Case
from tests.matrix.task_contradictions import Combination

__all__ = [
    "EVERYTHING",
    "NETWORK_MODES",
    "Defined",
    "add_capacity",
    "add_containers",
    "ask_of_host",
    "legal",
    "managed_case",
]

EVERYTHING = os.environ.get("MATRIX") == "all"
"""Whether every legal combination is built, as by ``make matrix``."""

NETWORK_MODES: dict[Mode, ecs.NetworkMode] = {
    "bridge": ecs.NetworkMode.BRIDGE,
    "host": ecs.NetworkMode.HOST,
    "awsvpc": ecs.NetworkMode.AWS_VPC,
}

_STACK_OF_ITS_OWN = 20
"""Providers that a landing counts for, because its tasks and services come to hundreds of resources."""


def legal(hosts: tuple[Host, ...], modes: Sequence[Mode | None], asks: Sequence[Ask] = ASKS) -> list[Combination]:
    """What can be on these hosts."""
    every = (Combination(ask=ask, mode=mode, hosts=hosts) for mode in modes for ask in asks)
    return [each for each in every if not each.contradictions]


def add_capacity(cluster: GpuCluster, host: Host, name: str) -> Capacity:
    """Defines the hosts; those with EFA are in one zone, which EFA does not leave."""
    if host.is_managed:
        return cluster.add_managed_capacity(name, **host.arguments)
    zone = ec2.SubnetSelection(availability_zones=[cluster.hosts.vpc.availability_zones[0]])
    return cluster.add_capacity(name, vpc_subnets=zone if host.adapters else None, **host.arguments)


def add_containers(task: GpuTaskDefinition, ask: Ask) -> None:
    """Adds what is asked; a container that is refused leaves nothing behind.

    Raises:
        GpuConstructsError: One is refused.
    """
    add_of: dict[str, Callable[..., object]] = {
        "gpu": task.add_gpu_container,
        "neuron": task.add_neuron_container,
        "plain": task.add_container,
    }
    node = task.node
    for number, wanted in enumerate(ask.containers):
        secret = {} if wanted.secret is None else {"secrets": {wanted.secret: _secret(task)}}
        before = (task.task, len(node.children))
        try:
            add_of[wanted.of](f"container{number}", image=image(wanted.of), **secret, **wanted.options)
        except GpuConstructsError:
            assert (task.task, len(node.children)) == before
            raise


@dataclass(frozen=True)
class Defined:
    """Hosts, and on them a service of one task for each combination and each way in which they are launched.

    Args:
        combinations: All of the same hosts.
    """

    combinations: tuple[Combination, ...]

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.combinations[0].hosts

    @property
    def name(self) -> str:
        return " and ".join(each.name for each in self.hosts)

    @property
    def kinds(self) -> list[bool]:
        return sorted({each.is_managed for each in self.hosts})

    @property
    def case(self) -> Case:
        """The same for `build`."""
        return Case(self.name, self._define, providers=_STACK_OF_ITS_OWN)

    def _define(self, cluster: GpuCluster, called: str) -> None:
        stack = cdk.Stack.of(cluster)
        capacities = {
            each: add_capacity(cluster, each, f"{called}Capacity{number}") for number, each in enumerate(self.hosts)
        }
        first: GpuTaskDefinition | None = None
        for number, each in enumerate(self.combinations):
            # Each has a log group and roles of its own in the default mode; for all modes a stack would be too small.
            shared = first if each.mode is not None else None
            task = GpuTaskDefinition(
                stack,
                f"{called}Task{number}",
                capacity=list(capacities.values()),
                family=f"{called}-{number}",
                network_mode=None if each.mode is None else NETWORK_MODES[each.mode],
                log_group=shared.log_group if shared else None,
                task_role=shared.task_role if shared else None,
                execution_role=shared.obtain_execution_role() if shared else None,
            )
            add_containers(task, each.ask)
            first = first or task
            for kind in self.kinds:
                GpuService(
                    stack,
                    f"{called}Task{number}On{'Managed' if kind else 'Group'}",
                    cluster=cluster,
                    task_definition=task,
                    capacity=[of for host, of in capacities.items() if host.is_managed is kind],
                    # Where no page says whether it is placed, the emulator does not place it.
                    desired_count=int(each.is_placed),
                )


def ask_of_host(host: Host) -> Ask:
    """All accelerators of a host, as one container asks for them."""
    name = "all Neuron devices" if host.neuron else "a quarter of a GPU" if host.part else "all GPUs"
    return next(each for each in ASKS if each.name == name)


def managed_case(host: Host, purchase: str, storage: str) -> Case:
    """One capacity of Managed Instances and a service of one task on it."""

    def define(cluster: GpuCluster, called: str) -> None:
        stack = cdk.Stack.of(cluster)
        capacity = cluster.add_managed_capacity(
            f"{called}Capacity", **host.arguments, purchase=PURCHASES[purchase], storage=STORAGE[storage]
        )
        task = GpuTaskDefinition(stack, f"{called}Task", capacity=[capacity], family=called)
        add_containers(task, ask_of_host(host))
        GpuService(stack, f"{called}TaskOnManaged", cluster=cluster, task_definition=task)

    return Case(f"{host.name}, {purchase}, {storage}", define)


@cache
def image(of: str = "gpu") -> ecs.ContainerImage:
    of_neuron, other = "aws-neuron/pytorch-inference-neuronx:2.8.0", "nvidia/cuda:12.8.1-base-ubuntu24.04"
    return ecs.ContainerImage.from_registry(of_neuron if of == "neuron" else other)


def _secret(task: GpuTaskDefinition) -> ecs.Secret:
    stack = cdk.Stack.of(task)
    known = stack.node.try_find_child("Parameter") or ssm.StringParameter.from_string_parameter_name(
        stack, "Parameter", "name"
    )
    return ecs.Secret.from_ssm_parameter(known)  # type: ignore[arg-type]

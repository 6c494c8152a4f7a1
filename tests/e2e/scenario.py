"""The story that the end-to-end test checks and the demo shows: the same steps, the same checks.

Deploy a stack with one-GPU hosts, run its task, see what does not fit fail as ECS fails it, update to eight-GPU hosts,
run the eight-GPU task, destroy, find nothing left.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ecs_emulator.account import Account, HostView, TaskView
from ecs_emulator.inventory import inventory

from .cdk_cli import ROOT, Cdk

__all__ = ["BENCHMARK", "Findings", "Scenario", "Step", "Story", "UnexpectedError"]

PATIENCE_MINUTES = 40
_WAITING_MINUTES = 25  # after 30, the emulator gives a task up, as ECS does after 10 to 30
"""How many times the emulator is looked at before something counts as never happening; each look is a minute of AWS."""

CONSTRAINT = "MemberOf placement constraint unsatisfied."
GPU = "RESOURCE:GPU"


class UnexpectedError(AssertionError):
    """The emulator did not do what AWS documents, or the stack is not what it promises to be."""


@dataclass(frozen=True)
class Story:
    """What to deploy, and where in it to look.

    Args:
        stack: The stack.
        project: The directory of its app.
        small: Context for hosts of one GPU.
        large: Context for hosts of eight.
        small_type: Instance type of the hosts of one GPU.
        large_type: Instance type of the hosts of eight.
        small_task: Output with the ``aws ecs run-task`` line of a task of one GPU.
        large_task: The same for a task of eight.
        cluster: Output with the cluster's name.
    """

    stack: str
    small_type: str
    large_type: str
    small: Mapping[str, str]
    large: Mapping[str, str]
    small_task: str
    large_task: str
    cluster: str = "ClusterName"
    project: Path = ROOT


BENCHMARK = Story(
    stack="tensorflow-benchmark",
    small_type="g6.xlarge",
    large_type="g6.48xlarge",
    small=MappingProxyType({"gpu_instance_type": "g6.xlarge"}),
    large=MappingProxyType({"gpu_instance_type": "g6.48xlarge"}),
    small_task="Tensorflow1GpuRunTask",
    large_task="Tensorflow8GpuRunTask",
)


@dataclass(frozen=True)
class Findings:
    """What a step found.

    Args:
        lines: What there is to say about it.
        hosts: The hosts of the cluster, where they matter.
        tasks: The tasks of the cluster, where they matter.
    """

    lines: tuple[str, ...] = ()
    hosts: tuple[HostView, ...] = ()
    tasks: tuple[TaskView, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step of the story.

    Args:
        title: What it does.
        act: Does it and checks it.
    """

    title: str
    act: Callable[[], Findings]


@dataclass
class Scenario:
    """One telling of the story.

    Args:
        story: What to deploy.
        cdk: The command line.
        account: The emulator's account.
    """

    story: Story
    cdk: Cdk
    account: Account
    _assembly: Path = field(init=False)
    _outputs: dict[str, str] = field(init=False, default_factory=dict)
    _before: frozenset[tuple[str, str]] = field(init=False, default=frozenset())

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in their order; each builds on those before it."""
        small, large = self.story.small_type, self.story.large_type
        return (
            Step(f"synthesize {self.story.stack} with hosts of {small}", self._synth_small),
            Step("bootstrap the account", self._bootstrap),
            Step(f"deploy {self.story.stack}", self._deploy_small),
            Step("every resource of the template exists", self._all_exist),
            Step("run the task of one GPU; the cluster starts from zero hosts", self._run_small),
            Step("refused: a second task, tied to the host that is full", self._run_on_full_host),
            Step(
                f"refused: 8 GPUs on {small}, which the library does not let through but plain CDK does",
                self._run_past_the_library,
            ),
            Step(f"update the stack to hosts of {large}", self._update),
            Step("run the task of 8 GPUs", self._run_large),
            Step("destroy the stack while hosts run", self._destroy),
            Step("nothing is left but the bootstrap", self._nothing_left),
        )

    @property
    def _cluster(self) -> str:
        return self._outputs[self.story.cluster]

    def _synth_small(self) -> Findings:
        self._assembly = self.cdk.synth(self.story.stack, self.story.small)
        return Findings((f"{len(self._template())} resources",))

    def _bootstrap(self) -> Findings:
        self.cdk.bootstrap()
        self._before = inventory(self.account.client)
        expect(("stack", "CDKToolkit") in self._before, "the bootstrap stack is missing")
        return Findings(("stack CDKToolkit",))

    def _deploy_small(self) -> Findings:
        self._outputs = self.cdk.deploy(self._assembly, self.story.stack)
        expect(not self.cdk.differs(self._assembly, self.story.stack), "`cdk diff` finds differences after the deploy")
        return Findings(("cdk diff after the deploy: no differences", *self._offers()))

    def _all_exist(self) -> Findings:
        expected, actual = self._template(), self.account.stack_resources(self.story.stack)
        expect(actual == expected, f"not as in the template: {sorted(set(expected.items()) ^ set(actual.items()))}")
        counts = Counter(expected.values())
        return Findings(tuple(f"{count} {kind}" for kind, count in sorted(counts.items())))

    def _run_small(self) -> Findings:
        task = self._until_running(self._run(self.story.small_task))
        hosts = self.account.hosts(self._cluster)
        expect(len(set(task.gpus)) == 1, f"the task of one GPU got {task.gpus}")
        self._expect_gpus_of_host(task, hosts, self.story.small_type)
        line = f"{len(hosts)} hosts, because ECS managed scaling starts two at once from zero"
        return Findings((line,), hosts, (task,))

    def _run_on_full_host(self) -> Findings:
        (first,) = self.account.tasks(self._cluster)
        outcome = self.account.run(
            cluster=self._cluster,
            taskDefinition=first.family,
            launchType="EC2",
            placementConstraints=[{"type": "memberOf", "expression": f"ec2InstanceId == {first.instance_id}"}],
        )
        expect(not outcome.tasks, "a second task runs on a host without a free GPU")
        for instance_id, reason in outcome.failures.items():
            wanted = GPU if instance_id == first.instance_id else CONSTRAINT
            expect(reason == wanted, f"{instance_id} refuses the task with {reason}, not {wanted}")
        expect(first.instance_id in outcome.failures, "the full host gave no reason")
        return Findings(_reasons(outcome.failures), self.account.hosts(self._cluster), (first,))

    def _run_past_the_library(self) -> Findings:
        ecs = self.account.client("ecs")
        definition = ecs.register_task_definition(
            family="past-the-library",
            requiresCompatibilities=["EC2"],
            containerDefinitions=[
                {
                    "name": "training",
                    "image": "tensorflow/tensorflow:latest-gpu",
                    "memory": 1024,
                    "resourceRequirements": [{"type": "GPU", "value": "8"}],
                }
            ],
        )["taskDefinition"]["taskDefinitionArn"]
        hosts = self.account.hosts(self._cluster)
        outcome = self.account.run(cluster=self._cluster, taskDefinition=definition, launchType="EC2")
        expect(not outcome.tasks, "a task of 8 GPUs runs on a host of one")
        expect(
            outcome.failures == dict.fromkeys((host.instance_id for host in hosts), GPU),
            f"the hosts refuse the task with {outcome.failures}",
        )
        provider = hosts[0].provider
        (waiting,) = self.account.run(
            cluster=self._cluster,
            taskDefinition=definition,
            capacityProviderStrategy=[{"capacityProvider": provider, "weight": 1}],
        ).tasks
        for _ in range(_WAITING_MINUTES):
            status = self._task(waiting).status
            expect(status == "PROVISIONING", f"on the capacity provider, the task of 8 GPUs is {status}")
        after, tasks = self.account.hosts(self._cluster), self.account.tasks(self._cluster)
        expect(len(after) <= len(hosts), "the cluster grew for a task that no host of it can take")
        ecs.stop_task(cluster=self._cluster, task=waiting)
        ecs.deregister_task_definition(taskDefinition=definition)
        line = (
            f"on its capacity provider: still PROVISIONING after {_WAITING_MINUTES} minutes of the emulator's time; no "
            "host was added, and the one that was idle was scaled in"
        )
        return Findings((*_reasons(outcome.failures), line), after, tasks)

    def _update(self) -> Findings:
        self.account.stop_all(self._cluster)
        self._assembly = self.cdk.synth(self.story.stack, self.story.large)
        self._outputs = self.cdk.deploy(self._assembly, self.story.stack)
        self._all_exist()
        return Findings(self._offers())

    def _run_large(self) -> Findings:
        task = self._until_running(self._run(self.story.large_task))
        hosts = self.account.hosts(self._cluster)
        expect(len(set(task.gpus)) == 8, f"the task of 8 GPUs got {len(set(task.gpus))}")
        self._expect_gpus_of_host(task, hosts, self.story.large_type)
        return Findings(hosts=hosts, tasks=(task,))

    def _destroy(self) -> Findings:
        self.account.stop_all(self._cluster)
        running = len(self.account.hosts(self._cluster))
        expect(running > 0, "no host runs that the destroy could trip over")
        self.cdk.destroy(self._assembly, self.story.stack)
        return Findings((f"with {running} hosts",))

    def _nothing_left(self) -> Findings:
        after = inventory(self.account.client)
        expect(after == self._before, f"left behind or missing: {sorted(after ^ self._before)}")
        return Findings((f"{len(after)} things in the account, as before the deploy",))

    def _template(self) -> dict[str, str]:
        """Logical id to type of what the synthesized template asks for."""
        template = json.loads((self._assembly / f"{self.story.stack}.template.json").read_text())
        return {logical_id: resource["Type"] for logical_id, resource in template["Resources"].items()}

    def _offers(self) -> tuple[str, ...]:
        """What the stack's outputs say about tasks: a command to run one, or why there is none."""
        cluster = self._outputs[self.story.cluster]
        return (f"cluster {cluster}", *(f"{key}: {value}" for key, value in self._outputs.items() if " " in value))

    def _run(self, output: str) -> str:
        outcome = self.account.run_command(self._outputs[output])
        expect(len(outcome.tasks) == 1, f"RunTask started nothing: {outcome.failures}")
        return outcome.tasks[0]

    def _task(self, arn: str) -> TaskView:
        return next(task for task in self.account.tasks(self._cluster) if task.arn == arn)

    def _until_running(self, arn: str) -> TaskView:
        for _ in range(PATIENCE_MINUTES):
            task = self._task(arn)
            if task.status == "RUNNING":
                return task
        raise UnexpectedError(f"after {PATIENCE_MINUTES} minutes the task is {task.status}")

    @staticmethod
    def _expect_gpus_of_host(task: TaskView, hosts: tuple[HostView, ...], instance_type: str) -> None:
        host = next(host for host in hosts if host.instance_id == task.instance_id)
        expect(host.instance_type == instance_type, f"the task runs on {host.instance_type}, not {instance_type}")
        expect(set(task.gpus) <= set(host.gpus), f"{task.gpus} are not GPUs of {host.instance_id}")
        expect(not set(task.gpus) & set(host.free_gpus), f"{host.instance_id} still counts the task's GPUs as free")


def expect(holds: object, otherwise: str) -> None:
    """Check a promise of the story."""
    if not holds:
        raise UnexpectedError(otherwise)


def _reasons(failures: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{instance_id}: {reason}" for instance_id, reason in failures.items())

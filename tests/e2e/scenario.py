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

from ecs_emulator.account import Account, HostView, TaskView
from ecs_emulator.inventory import inventory

from .cdk_cli import Cdk

__all__ = ["LARGE", "SMALL", "STACK", "Findings", "Scenario", "Step", "UnexpectedError"]

PATIENCE_MINUTES = 40
_WAITING_MINUTES = 25  # after 30, the emulator gives a task up, as ECS does after 10 to 30
"""How many times the emulator is looked at before something counts as never happening; each look is a minute of AWS."""

CONSTRAINT = "MemberOf placement constraint unsatisfied."
GPU = "RESOURCE:GPU"


class UnexpectedError(AssertionError):
    """The emulator did not do what AWS documents, or the stack is not what it promises to be."""


STACK = "tensorflow-benchmark"

SMALL, LARGE = "g6.xlarge", "g6.48xlarge"
"""Types of hosts with one GPU and with eight."""


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
        cdk: The command line.
        account: The emulator's account.
    """

    cdk: Cdk
    account: Account
    _assembly: Path = field(init=False)
    _outputs: dict[str, str] = field(init=False, default_factory=dict)
    _before: frozenset[tuple[str, str]] = field(init=False, default=frozenset())

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in their order; each builds on those before it."""
        return (
            Step(f"synthesize {STACK} with hosts of {SMALL}", self._synth_small),
            Step("bootstrap the account", self._bootstrap),
            Step(f"deploy {STACK}", self._deploy_small),
            Step("every resource of the template exists", self._all_exist),
            Step("run the task of one GPU; the cluster starts from zero hosts", self._run_small),
            Step("refused: a second task, tied to the host that is full", self._run_on_full_host),
            Step(
                f"refused: 8 GPUs on {SMALL}, which the library does not let through but plain CDK does",
                self._run_past_the_library,
            ),
            Step(f"update the stack to hosts of {LARGE}", self._update),
            Step("run the task of 8 GPUs", self._run_large),
            Step("destroy the stack while hosts run", self._destroy),
            Step("nothing is left but the bootstrap", self._nothing_left),
        )

    @property
    def _cluster(self) -> str:
        return self._outputs["ClusterName"]

    def _synth_small(self) -> Findings:
        self._assembly = self.cdk.synth(STACK, {"gpu_instance_type": SMALL})
        return Findings((f"{len(self._template())} resources",))

    def _bootstrap(self) -> Findings:
        self.cdk.bootstrap()
        self._before = inventory(self.account.client)
        expect(("stack", "CDKToolkit") in self._before, "the bootstrap stack is missing")
        return Findings(("stack CDKToolkit",))

    def _deploy_small(self) -> Findings:
        self._outputs = self.cdk.deploy(self._assembly, STACK)
        expect(not self.cdk.differs(self._assembly, STACK), "`cdk diff` finds differences after the deploy")
        return Findings(("cdk diff after the deploy: no differences", *self._offers()))

    def _all_exist(self) -> Findings:
        expected, actual = self._template(), self.account.stack_resources(STACK)
        expect(actual == expected, f"not as in the template: {sorted(set(expected.items()) ^ set(actual.items()))}")
        counts = Counter(expected.values())
        return Findings(tuple(f"{count} {kind}" for kind, count in sorted(counts.items())))

    def _run_small(self) -> Findings:
        task = self._until_running(self._run("Tensorflow1GpuRunTask"))
        hosts = self.account.hosts(self._cluster)
        expect(len(set(task.gpus)) == 1, f"the task of one GPU got {task.gpus}")
        self._expect_gpus_of_host(task, hosts, SMALL)
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
        self._assembly = self.cdk.synth(STACK, {"gpu_instance_type": LARGE})
        self._outputs = self.cdk.deploy(self._assembly, STACK)
        self._all_exist()
        return Findings(self._offers())

    def _run_large(self) -> Findings:
        task = self._until_running(self._run("Tensorflow8GpuRunTask"))
        hosts = self.account.hosts(self._cluster)
        expect(len(set(task.gpus)) == 8, f"the task of 8 GPUs got {len(set(task.gpus))}")
        self._expect_gpus_of_host(task, hosts, LARGE)
        return Findings(hosts=hosts, tasks=(task,))

    def _destroy(self) -> Findings:
        self.account.stop_all(self._cluster)
        running = len(self.account.hosts(self._cluster))
        expect(running > 0, "no host runs that the destroy could trip over")
        self.cdk.destroy(self._assembly, STACK)
        return Findings((f"with {running} hosts",))

    def _nothing_left(self) -> Findings:
        after = inventory(self.account.client)
        expect(after == self._before, f"left behind or missing: {sorted(after ^ self._before)}")
        return Findings((f"{len(after)} things in the account, as before the deploy",))

    def _template(self) -> dict[str, str]:
        """Logical id to type of what the synthesized template asks for."""
        template = json.loads((self._assembly / f"{STACK}.template.json").read_text())
        return {logical_id: resource["Type"] for logical_id, resource in template["Resources"].items()}

    def _offers(self) -> tuple[str, ...]:
        """What the stack's outputs say about tasks: a command to run one, or why there is none."""
        cluster = self._outputs["ClusterName"]
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

"""A multi-node parallel job of AWS Batch: one task on each of several hosts, of which the main one decides how it ends.

https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html: it starts where there are hosts for all of it;
the main node comes first, the others when that one runs; with the main node all others are stopped. A node that fails
changes nothing, which ``/emulator/nodes/<name>`` (`switches`) makes happen: ``2:1`` for exit code 1 of node 2,
``2:image`` for its image, which is not pulled, ``2:lost`` for its host. Whether the main one then fails or waits is for
`batch_jobs` to be told, as for any job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.batch.exceptions import ClientException

from . import switches
from .batch_hosts import FULL
from .batch_jobs import NOT_PULLED, EmulatedJob
from .placement import Demand, Placement, place

if TYPE_CHECKING:
    from moto.ecs.models import TaskDefinition

    from .batch_hosts import EmulatedEnvironment
    from .tasks import EmulatedTask

__all__ = ["EmulatedGang"]


class EmulatedGang(EmulatedJob):
    """One multi-node job."""

    network_mode = "awsvpc"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._children: dict[int, EmulatedTask] = {}
        self._number = int(self._nodes["numNodes"])

    def change(self, overrides: dict[str, Any]) -> None:
        """``nodeOverrides`` of SubmitJob, of which the number of nodes is modelled.

        https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeOverrides.html, in the words of
        https://github.com/aws/aws-cdk/issues/29415.
        """
        if overrides.keys() - {"numNodes"}:
            raise ClientException(f"not modelled here: {', '.join(sorted(overrides))}")
        ranges = [each["targetNodes"].partition(":") for each in self._nodes["nodeRangeProperties"]]
        if not any(colon and not last for _, colon, last in ranges):
            raise ClientException(
                "NumNodes override can only be applied if the job definition has at least 1 target node without a "
                "range_end i.e (:) or (range_start:)."
            )
        number = int(overrides["numNodes"])
        lowest = max(int(self._nodes["mainNode"]), *(int(first or 0) for first, _, _ in ranges))
        if number <= lowest:
            raise ClientException(f"{number} nodes do not have the node {lowest} of the job definition")
        self._number = number

    @property
    def _nodes(self) -> dict[str, Any]:
        return dict(self.job_definition.node_properties or {})

    @property
    def _container(self) -> dict[str, Any]:
        return dict(self._nodes["nodeRangeProperties"][0]["container"])

    @property
    def vcpus(self) -> int:
        return self.number * super().vcpus

    @property
    def number(self) -> int:
        """How many nodes it has."""
        return self._number

    def _start(self, environments: list[EmulatedEnvironment]) -> None:
        named = self._container.get("instanceType")
        fitting = [
            each
            for each in environments
            if each.resources["type"] == "EC2" and named in {None, *each.resources["instanceTypes"]}
        ]
        super()._start(fitting)

    def _take(self, environment: EmulatedEnvironment, definition: TaskDefinition, demand: Demand) -> bool:
        free = [each for each in environment.hosts if isinstance(place(demand, [each.free]), Placement)]
        if len(free) < self.number:
            return False
        self._children = {}
        self._definition = definition
        return super()._take(environment, definition, demand)

    def _launch(self, environment: EmulatedEnvironment, demand: Demand) -> str | None:
        busy = sum(bool(each.tasks) for each in environment.hosts)
        while len(environment.running) < self.number + busy:
            reason = environment.launch_for(demand)
            if reason == FULL and not busy:
                return "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
            if reason is not None:
                return reason
        return None

    def _options(self, environment: EmulatedEnvironment) -> dict[str, Any]:
        resources = environment.resources
        network = {"subnets": resources["subnets"][:1], "securityGroups": resources.get("securityGroupIds", [])}
        return {"networking_configuration": {"awsvpcConfiguration": network}}

    def _go_on(self) -> None:
        was_running = self.status == "RUNNING"
        if was_running and self._children:
            self._fail_nodes()
        super()._go_on()
        if self.status == "RUNNING" and not was_running:
            self._start_children()
        elif self.status == "RUNNING":
            for each in self._children.values():
                if each.last_status == "PENDING":
                    each.begin()
        elif self.status != "STARTING":
            self._stop_children()

    def _start_children(self) -> None:
        environment = self._environment
        assert environment is not None
        for index in range(1, self.number):
            ecs = environment.ecs
            child = ecs.start(
                ecs._get_cluster(environment.ecs_name),
                self._definition,
                group=f"job:{self.job_id}#{index}",
                options=self._options(environment),
            )
            assert not isinstance(child, tuple), child
            self._children[index] = child

    def _fail_nodes(self) -> None:
        environment = self._environment
        assert environment is not None
        for each in (switches.read(environment.where, f"nodes/{self.job_name}") or "").split(","):
            index, _, how = each.partition(":")
            child = self._children.get(int(index or 0))
            if child is None or child.last_status != ("PENDING" if how == "image" else "RUNNING"):
                continue
            if how == "image":
                child.stop(NOT_PULLED, "TaskFailedToStart")
            elif how == "lost":
                assert child.host is not None
                lost = child.host.ec2_instance_id
                environment.terminate(next(one for one in environment.running if one.id == lost))
            else:
                child.exit(int(how))

    def _stop_children(self) -> None:
        for each in self._children.values():
            if each.last_status != "STOPPED":
                each.stop("The main node of the job ended")

    def terminate(self, reason: str) -> None:
        super().terminate(reason)
        self._stop_children()

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"nodeProperties": self._nodes | {"numNodes": self.number}}

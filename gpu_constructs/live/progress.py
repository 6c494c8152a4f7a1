"""How far a service is: what it runs of what it wants, and how its newest deployment does."""

from __future__ import annotations

from gpu_constructs.budget import QUOTE, brief
from gpu_constructs.live.described import Thing, listed, number, text
from gpu_constructs.values import dataclass

_COMPUTED = "computedDesiredCount"
_FAILED = "FAILED"
_GONE = frozenset({"DRAINING", "INACTIVE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a service is.

    Attributes:
        desired: Tasks that it wants; None where that is not said.
        running: Tasks that run, those of an older deployment among them; None where that is not said.
        pending: Tasks that start.
        new_desired: Tasks that its newest deployment wants; None where that is not said.
        new_running: Those of them that run.
        status: Its own status where it is deleted, or is about to be; else empty.
        failed: Why its newest deployment failed; empty where it did not.
        is_odd: Whether its deployments are of another shape than the API documents.
    """

    desired: int | None
    running: int | None
    pending: int
    new_desired: int | None
    new_running: int | None
    status: str
    failed: str
    is_odd: bool

    @property
    def missing(self) -> int:
        """Tasks that are still to run: of the service, or of its newest deployment where those are more."""
        pairs = ((self.desired, self.running), (self.new_desired, self.new_running))
        return max((0, *(wanted - has for wanted, has in pairs if wanted is not None and has is not None)))

    @property
    def is_there(self) -> bool | None:
        """Whether it runs all that it wants, from its newest deployment; None where that is not said."""
        if self.failed or self.status or self.missing:
            return False
        return None if self.is_odd or self.desired is None or self.running is None else True

    def __str__(self) -> str:
        if self.desired is None or self.running is None:
            counts = "does not say how many tasks it wants and runs"
        else:
            counts = f"runs {self.running} of {self.desired} tasks"
        new = f"{self.new_running} of {self.new_desired} of its newest deployment"
        is_behind = self.new_running is not None and (self.new_desired or 0) > self.new_running
        return ", ".join(
            (
                *([f"is {self.status}"] if self.status else []),
                counts,
                *([new] if is_behind and (self.new_running, self.new_desired) != (self.running, self.desired) else []),
                *([f"{self.pending} pending"] if self.pending else []),
                *(["and its newest deployment failed"] if self.failed else []),
            )
        )


def progress_of(service: Thing) -> Progress:
    """How far a service is, as it is described."""
    newest, status = _newest(service), text(service, "status")
    failed = text(newest, "rolloutState") == _FAILED
    new_desired, new_running = number(newest, _desired(newest)), number(newest, "runningCount")
    is_listed = all(isinstance(service.get(each) or [], list) for each in ("deployments", "taskSets"))
    return Progress(
        desired=number(service, "desiredCount"),
        running=number(service, "runningCount"),
        pending=number(service, "pendingCount") or 0,
        new_desired=new_desired,
        new_running=new_running,
        status=brief(status, QUOTE) if status in _GONE else "",
        failed=(text(newest, "rolloutStateReason") or "without a reason") if failed else "",
        is_odd=not is_listed or (bool(newest) and (new_desired is None or new_running is None)),
    )


def _desired(newest: Thing) -> str:
    """Where a deployment says how many tasks it wants, and a task set."""
    return _COMPUTED if _COMPUTED in newest else "desiredCount"


def rolled_out(described: Thing) -> Thing:
    """A service as ECS places its tasks now: with what its newest deployment or task set says of them.

    A service whose deployments are those of CodeDeploy or of another controller has its task definition there alone.
    """
    newest = _newest(described)
    names = ("taskDefinition", "capacityProviderStrategy", "launchType")
    return {**described, **{name: newest[name] for name in names if newest.get(name)}}


def _newest(service: Thing) -> Thing:
    """The newest deployment of a service: of its task sets one that is not yet there, else the one in use."""
    deployments = [each for each in listed(service, "deployments") if text(each, "status") == "PRIMARY"]
    sets = [each for each in listed(service, "taskSets") if text(each, "status") in {"PRIMARY", "ACTIVE"}]
    behind = [each for each in sets if (number(each, _COMPUTED) or 0) > (number(each, "runningCount") or 0)]
    in_use = [each for each in sets if text(each, "status") == "PRIMARY"]
    return next(iter((*deployments, *behind, *in_use)), {})

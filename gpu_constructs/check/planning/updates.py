"""What AWS refuses when one set of files is deployed over another, the two deploys that do it, and what it replaces.

While a stack is updated, what is new is there beside what is gone, which is deleted last
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html).
Only what is certain by the files: the old ones are what runs, the new ones what is deployed over it, stack by stack.
Stacks are the same by their names; one template alone on each side is the same stack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_constructs.check.planning.two_sides import Side, Sides, value_at
from gpu_constructs.check.planning.update_room import Id, crowds
from gpu_constructs.check.planning.update_table import (
    ASSOCIATIONS,
    BALANCER,
    CLUSTER_EXPORTED,
    EXPORTED,
    IN_USE,
    MAY_REPLACE_SERVICE,
    PROVIDER,
    REPLACED_BY,
    ROOM,
    SERVICE,
    UNIQUE,
    Refusal,
    Unique,
)
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import Fleet, Unknown, Workload
from gpu_constructs.placement.reasons import listed
from gpu_constructs.template.documents.node import members, nodes_in, under
from gpu_constructs.template.evaluation import Stacks
from gpu_constructs.template.model import Resource, Value
from gpu_constructs.template.resources.section import is_list

_CLUSTER = "AWS::ECS::Cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What becomes of new files that are deployed over old ones.

    Attributes:
        replaced: The services that CloudFormation replaces, each with why and what that takes; none of `refused`.
        staying: The services whose strategy changes and whose tasks do not move.
        balancers: The load balancers that are others now, and what that means for who calls them.
        left: The stacks that are in the old files alone, which no deploy deletes.
    """

    refused: tuple[Refusal, ...] = ()
    replaced: tuple[str, ...] = ()
    staying: tuple[str, ...] = ()
    balancers: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def update_of(old: Stacks, new: Stacks, *fleets: Fleet) -> Update:
    """What AWS refuses, and which services it replaces, when the new files are deployed over the old ones.

    With the fleets of both, what goes and what comes is counted together.
    """
    found = _Findings(Sides(old, new))
    refused = tuple(dict.fromkeys((*found.refused(), *(found.crowded(*fleets) if fleets else ()))))
    return Update(
        refused=refused,
        replaced=tuple(found.replaced_services()),
        staying=tuple(found.staying()),
        balancers=tuple(found.new_balancers()),
        left=tuple(found.left_stacks()),
    )


class _Findings:
    """What is said of an update; nothing is told of twice."""

    def __init__(self, sides: Sides) -> None:
        self._sides, self._old, self._new = sides, sides.old, sides.new
        self._told: set[Id] = set()

    def refused(self) -> Iterator[Refusal]:
        for each in UNIQUE:
            yield from self._taken(each)
        yield from self._providers_in_use()
        yield from self._clusters_imported()

    def crowded(self, old: Fleet, new: Fleet) -> Iterator[Refusal]:
        """What waits for room that what goes still has."""
        new = replace(new, workloads=tuple(map(self._begun, new.workloads)))
        for proof, goes, awaited in crowds(old, new, was=self._old.at, now=self._new.at, stays=self._sides.stays):
            self._told |= {at for of in awaited if (at := self._new.at(of.origin)) is not None}
            names = [each.name for each in awaited]
            come = listed(f"the new {each}" if each in goes else each for each in names)
            gone = listed(f"the old {each}" if each in names else each for each in goes)
            least, most = proof.hosts_at_least, proof.pool.hosts_at_most
            change = (
                f"CloudFormation waits, up to three hours, for all copies of {come} beside those of {gone}: that takes "
                f"at least {least} hosts of {brief(proof.pool.name, NAME)}, and there can be {most}"
            )
            limit = proof.pool.limit
            steps = f"raise {limit} to {least}, and deploy", f"set {limit} back to {most}, and deploy"
            yield Refusal(change=change, answer="service not stable", steps=steps, source=ROOM)

    def _begun(self, workload: Workload) -> Workload:
        """A workload, with one copy of a new service that names no number and is scaled only once it is there.

        https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html
        """
        at = self._new.at(workload.origin)
        resource = None if at is None or self._sides.stays(at) else self._new.by_id[at]
        is_open = resource is not None and resource.type == SERVICE and "DesiredCount" not in resource.properties
        return replace(workload, desired_count=1) if is_open and workload.daemon is False else workload

    def staying(self) -> Iterator[str]:
        """Services that change their strategy alone, which "doesn't trigger a new service deployment".

        https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateService.html
        """
        for service in self._new.index.all(SERVICE):
            at = self._new.id_of(service.reference)
            if service.exists is not True or not self._sides.stays(at):
                continue
            before = self._old.by_id[at]
            changed = self._sides.changed(before, service, {*before.properties, *service.properties} - {"DesiredCount"})
            tasks = (_task(side, each) for side, each in ((self._old, before), (self._new, service)))
            if [*changed] == ["CapacityProviderStrategy"] and not self._sides.differ(*tasks):
                yield (
                    f"the tasks of {self._new.called(service)} that run stay where they are: the files change its "
                    "CapacityProviderStrategy alone, which starts no deployment; ForceNewDeployment with another nonce "
                    "does, before its old capacity is removed"
                )

    def replaced_services(self) -> Iterator[str]:
        """Services that stay by their id, and are others after the update."""
        for service in self._new.index.all(SERVICE):
            at = self._new.id_of(service.reference)
            before = self._old.by_id.get(at)
            if before is None or before.type != SERVICE or service.exists is not True or at in self._told:
                continue
            surely = [*self._sides.changed(before, service, REPLACED_BY[SERVICE])]
            paths = surely or [*self._sides.changed(before, service, MAY_REPLACE_SERVICE)]
            if paths:
                counts = [value_at(each, "DesiredCount") for each in (before, service)]
                copies = " ({} and {})".format(*counts) if all(isinstance(each, int) for each in counts) else ""
                why = f"since {listed(paths)} {'changes' if len(paths) == 1 else 'change'}"
                yield (
                    f"{self._new.called(service)} {'is' if surely else 'may be'} replaced, {why}: "
                    f"all copies of the old and the new one{copies} run at once, for which there must be room"
                )

    def new_balancers(self) -> Iterator[str]:
        """Load balancers that were not there before: their URLs are new, and tasks become healthy behind them anew."""
        gone = [self._old.called(each) for each in self._balancers(self._old)]
        told = f"in place of {listed(gone)}, whose DNS name and listeners go" if gone else "beside what there was"
        for each in self._balancers(self._new):
            yield (
                f"load balancer {self._new.called(each)} is new, {told}: clients and records need its DNS name, and "
                "it answers once tasks are healthy, for which HealthCheckGracePeriodSeconds leaves time"
            )

    def left_stacks(self) -> Iterator[str]:
        """Stacks that are in the old files alone, without nested ones."""
        names = {each.name for each in self._new.stacks.stacks}
        said = (
            " is in the old files alone, and no deploy deletes it: what it runs and costs goes on, and what it imports "
            "cannot change, until you delete it"
        )
        for each in self._old.stacks.evaluators:
            if each.file == each.source.document.file and self._old.stack(each.name) not in names:
                name = brief(each.stack_name or each.name, NAME)
                yield f"{brief(each.name, NAME)}{said}: aws cloudformation delete-stack --stack-name {name}"
                said = " too"

    def _balancers(self, side: Side) -> Iterator[Resource]:
        return (each for at, each in side.by_id.items() if each.type == BALANCER and not self._sides.stays(at))

    def _taken(self, unique: Unique) -> Iterator[Refusal]:
        """What somebody else has until the update ends."""
        owners = grouped((key, at) for at, key, _ in self._claims(self._old, unique))
        for at, key, shown in self._claims(self._new, unique):
            leaving = [each for each in owners.get(key, ()) if each[0] == at[0] and not self._sides.stays(each)]
            if not leaving or (at in owners[key] and self._sides.stays(at)):
                continue
            self._told.add(at)
            was, now = self._old.by_id[leaving[0]], self._new.by_id[at]
            what = unique.what.format(shown)
            change = (
                f"{self._new.called(now)} is replaced, and the new one takes {what}"
                if leaving[0] == at
                else f"{self._new.called(now)} takes {what} from {self._old.called(was)}, which goes"
            )
            yield replace(unique.refusal, change=f"{change}; the old one is deleted last")

    def _claims(self, side: Side, unique: Unique) -> Iterator[tuple[Id, Hashable, str]]:
        for resource in side.index.all(unique.type):
            if resource.exists is not True:
                continue
            *around, last = (value_at(resource, each) for each in unique.keys)
            for value in map(_discovered, last) if is_list(last) else [last]:
                if value is not None and not any(isinstance(each, Unknown) for each in (value, *around)):
                    shown = brief(repr(value), NAME) if isinstance(value, (str, int)) else "it has"
                    key = tuple(self._sides.key(side, each) for each in (value, *around))
                    yield side.id_of(resource.reference), key, shown

    def _providers_in_use(self) -> Iterator[Refusal]:
        """Capacity providers that leave the list of a cluster while services use them."""
        users = defaultdict[Id | str, list[Resource]](list)
        for service in self._old.index.all(SERVICE):
            for item in _list(value_at(service, "CapacityProviderStrategy") or self._default_of(service)):
                named = item.get("CapacityProvider") if isinstance(item, Mapping) else None
                provider = self._provider(self._old, named)
                if provider is not None:
                    users[provider].append(service)
        for kind in (ASSOCIATIONS, _CLUSTER):
            for listing in self._old.index.all(kind):
                at = self._old.id_of(listing.reference)
                if not self._sides.stays(at):
                    continue
                left = value_at(self._new.by_id[at], "CapacityProviders")
                if isinstance(left, Unknown) or any(isinstance(each, Unknown) for each in _list(left)):
                    continue
                kept = {self._provider(self._new, each) for each in _list(left)}
                for value in _list(value_at(listing, "CapacityProviders")):
                    provider = self._provider(self._old, value)
                    gone = provider not in kept or (isinstance(provider, tuple) and self._sides.is_replaced(provider))
                    if provider is not None and provider not in self._told and gone and provider in users:
                        yield self._leaving(provider, users[provider])

    def _clusters_imported(self) -> Iterator[Refusal]:
        """Clusters that are replaced while services of other stacks import them."""
        for service in self._old.index.all(SERVICE):
            cluster = self._old.index.find(value_at(service, "Cluster"), _CLUSTER)
            written = self._old.node(service, "Resources", service.logical_id, "Properties", "Cluster")
            is_imported = under(written, "Fn::ImportValue") is not None
            if cluster is not None and is_imported and self._sides.is_replaced(self._old.id_of(cluster.reference)):
                self._told.add(self._old.id_of(service.reference))
                names = map(self._old.called, (cluster, service))
                change = "{} is replaced, and {} imports it until then".format(*names)
                answer = EXPORTED.answer.format("updated", service.stack)
                yield replace(CLUSTER_EXPORTED, change=change, answer=answer)

    def _leaving(self, provider: Id | str, services: Sequence[Resource]) -> Refusal:
        name = provider if isinstance(provider, str) else self._old.called(self._old.by_id[provider])
        use = "uses" if len(services) == 1 else "use"
        users = listed(map(self._old.called, services))
        change = f"capacity provider {name} leaves its cluster, and {users} {use} it until then"
        for each in services if isinstance(provider, tuple) else ():
            strategy = self._old.node(each, "Resources", each.logical_id, "Properties", "CapacityProviderStrategy")
            imported = [*filter(None, (under(one, "Fn::ImportValue") for one in nodes_in(strategy)))]
            if imported and each.stack != provider[0]:
                # CloudFormation looks at exports before ECS looks at the list.
                now = next((of for at, of in self._new.by_id.items() if at[0] == provider[0]), None)
                outputs = {} if now is None else members(self._new.node(now, "Outputs"))
                is_kept = any(under(of, "Export", "Name") in imported for of in outputs.values())
                answer = EXPORTED.answer.format("updated" if is_kept else "deleted", each.stack)
                return replace(EXPORTED, change=change, answer=answer)
        return replace(IN_USE, change=change)

    def _provider(self, side: Side, value: Value) -> Id | str | None:
        """A capacity provider that a property names: its resource, or its name where the files do not define it."""
        found = side.index.find(value, PROVIDER)
        if found is not None:
            return side.id_of(found.reference)
        return value if isinstance(value, str) else None

    def _default_of(self, service: Resource) -> Value:
        """The default strategy of the cluster of a service that has neither a strategy nor a launch type."""
        cluster = self._sides.key(self._old, value_at(service, "Cluster"))
        for each in self._old.index.all(ASSOCIATIONS) if value_at(service, "LaunchType") is None else ():
            if self._sides.key(self._old, value_at(each, "Cluster")) == cluster:
                return value_at(each, "DefaultCapacityProviderStrategy")
        return None


def _task(side: Side, service: Resource) -> Value:
    """What is said of the tasks of a service: all of its task definition, or what names one of no file."""
    found = side.index.find(named := value_at(service, "TaskDefinition"), "AWS::ECS::TaskDefinition")
    return named if found is None else found.properties


def _discovered(named: Value) -> Value:
    """The name in Cloud Map of a service in Service Connect, which is that of its port where it has none."""
    return (named.get("DiscoveryName") or named.get("PortName")) if isinstance(named, Mapping) else None


def _list(value: Value) -> Sequence[Value]:
    return value if is_list(value) else ()

"""The list of capacity providers of one cluster and its default strategy, which one resource writes.

PutClusterCapacityProviders replaces both as a whole
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PutClusterCapacityProviders.html).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct, IConstruct

from gpu_constructs.cdk.calls import stack_of, translated
from gpu_constructs.cdk.tokens import is_list_token, is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import KEEPS_PROVIDERS, KEEPS_STRATEGY, METADATA_KEY

# Who writes the list of a cluster that this app defines, and of one that it imports: the latter is known by its name
# only, so the note is kept on the app's own node.
_WRITERS: WeakKeyDictionary[ecs.Cluster, ClusterAssociation] = WeakKeyDictionary()
_WRITER_OF_IMPORTED = "gpu-constructs:capacity-provider-association"
# CDK's parameter for the value of an SSM parameter has the same id in every stack that reads the same parameter
# (aws-cdk-lib 2.275, ``StringParameter.valueForStringParameter``).
_OF_SSM = "SsmParameterValue"

_Item: TypeAlias = ecs.CfnClusterCapacityProviderAssociations.CapacityProviderStrategyProperty


class ClusterAssociation:
    """Defines which capacity providers a cluster has, and where its tasks go by default.

    Of a cluster that CDK made in this stack, CDK writes the list. Of any other, one resource of this stack does,
    because a provider of this stack in a list of that stack would make a cycle.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        given: ecs.ICluster,
        cluster: ecs.ICluster,
        stack: Callable[[], cdk.Stack],
        keeps: Sequence[str] | None = None,
        default_strategy: Sequence[ecs.CapacityProviderStrategy] | None = None,
    ) -> None:
        self._scope = scope
        self._given = given
        self._cluster = cluster
        self._stack_of_scope = stack
        self._own_cluster = cluster if isinstance(cluster, ecs.Cluster) else None
        self._keeps = keeps
        self._default_strategy = default_strategy
        self._listed: list[str] = []
        self._chosen_names: set[str] = set()
        self._made: list[ecs.AsgCapacityProvider | ecs.ManagedInstancesCapacityProvider] = []
        self._is_exported = False
        self._is_writer = False
        self._resource: ecs.CfnClusterCapacityProviderAssociations | None = None
        if keeps is None and default_strategy is None:
            return
        if self._own_cluster is not None:
            raise InvalidValueError(
                "a cluster of this stack keeps what it has",
                argument="default_strategy" if keeps is None else "keep_capacity_providers",
                value=default_strategy if keeps is None else list(keeps),
                fix="set_default_strategy(…) once its capacity is there" if keeps is None else "leave it out",
            )
        if any(map(is_list_token, keeps or ())):
            raise InvalidValueError(
                "providers of this app cannot be added to a list that is only known at deploy time",
                argument="keep_capacity_providers",
                value=list(keeps or ()),
                fix="the names, or each part of the list by itself, such as cdk.Fn.select(0, names)",
            )
        self._require_only_writer()
        self._listed = list(dict.fromkeys(keeps or ()))
        self._require_known(default_strategy or (), "default_strategy")
        self._write(self._listed)
        self._become_writer()

    @cached_property
    def stack(self) -> cdk.Stack:
        """The stack that writes it."""
        return self._stack_of_scope()

    @property
    def is_written_by_cdk(self) -> bool:
        """Whether CDK writes the list, and the lines into the user data that make a host join the cluster."""
        return self._own_cluster is not None

    @property
    def services_depend_on(self) -> IConstruct:
        """What a service must not outlive: a provider can only leave the cluster when no service uses it."""
        return self._resource or self._cluster

    def require_free(self, provider_name: str | None) -> None:
        """Refuses to begin on a provider that could not join the cluster."""
        self.require_free_name(provider_name)
        self._require_only_writer()

    def require_free_name(self, provider_name: str | None) -> None:
        """Refuses a name that another provider has. Managed Instances, which are in no list, need no more."""
        if provider_name is not None and provider_name in (*self._chosen_names, *(self._keeps or ())):
            raise InvalidValueError(
                f"a capacity of this cluster is already called {provider_name!r}",
                argument="capacity_provider_name",
                value=provider_name,
                fix="another name, or leave it out",
            )

    def attach(self, provider: ecs.AsgCapacityProvider, chosen_name: str | None) -> None:
        """Adds a capacity provider to the list of the cluster."""
        if self._own_cluster is not None:
            self._own_cluster.add_asg_capacity_provider(provider)
        else:
            self._write([*self._listed, provider.capacity_provider_name])
        self._become_writer()
        self._take(provider, chosen_name)

    def attach_managed(self, provider: ecs.ManagedInstancesCapacityProvider, chosen_name: str | None) -> None:
        """Adds a provider of Managed Instances to the cluster, whichever stack defines it; it is in no list."""
        if self._own_cluster is not None:
            self._own_cluster.add_managed_instances_capacity_provider(provider)
        else:
            provider.bind(self._cluster)
        self._take(provider, chosen_name)

    def keep_exported(self, scope: IConstruct) -> None:
        """Exports the names of all its providers for good, once something in another stack uses one.

        CDK exports a name only for as long as something imports it, and deploys the stack with the export first: a
        service that moved to another capacity could not be deployed, since CloudFormation drops no export in use
        (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html).
        """
        if self._is_exported or scope is self.stack or self.stack.nested_stack_parent is not None:
            return
        user = stack_of(scope)
        while user.nested_stack_parent is not None:
            user = user.nested_stack_parent
        if user is not self.stack:
            self._is_exported = True
            for each in self._made:
                self.stack.export_value(each.capacity_provider_name)

    def set_default_strategy(self, strategy: Sequence[ecs.CapacityProviderStrategy]) -> None:
        """Sets where tasks without a strategy and without a launch type go."""
        if self._default_strategy is not None:
            raise InvalidValueError(
                "the cluster has a default strategy already",
                argument="strategy",
                fix="one strategy with all of its items",
            )
        self._require_only_writer()
        if self._own_cluster is not None:
            with translated():
                self._own_cluster.add_default_capacity_provider_strategy(list(strategy))
        else:
            self._require_known(strategy, "strategy")
        self._default_strategy = strategy
        if self._own_cluster is None:
            self._write(self._listed)
        self._become_writer()

    def _require_known(self, strategy: Sequence[ecs.CapacityProviderStrategy], argument: str) -> None:
        known = list(dict.fromkeys([*self._listed, *(each.capacity_provider_name for each in self._made)]))
        for each in strategy:
            if each.capacity_provider not in known:
                raise InvalidValueError(
                    f"{shown(each.capacity_provider)} is not a capacity provider of this cluster",
                    argument=argument,
                    value=each.capacity_provider,
                    allowed=", ".join(name for name in known if not is_token(name)) or None,
                    fix="name it in keep_capacity_providers if the cluster has it, or add its capacity first",
                )

    def _take(
        self, provider: ecs.AsgCapacityProvider | ecs.ManagedInstancesCapacityProvider, chosen_name: str | None
    ) -> None:
        self._made.append(provider)
        if self._is_exported:
            self.stack.export_value(provider.capacity_provider_name)
        if chosen_name is not None:
            self._chosen_names.add(chosen_name)

    def _write(self, names: list[str]) -> None:
        strategy: list[cdk.IResolvable | _Item] = [
            _Item(capacity_provider=each.capacity_provider, base=each.base, weight=each.weight)
            for each in self._default_strategy or ()
        ]
        if self._resource is not None:
            self._resource.capacity_providers = names
            if strategy:
                self._resource.default_capacity_provider_strategy = strategy
        else:
            self._resource = ecs.CfnClusterCapacityProviderAssociations(
                self._scope,
                "CapacityProviderAssociation",
                cluster=self._cluster.cluster_name,
                capacity_providers=names,
                default_capacity_provider_strategy=strategy,
            )
        self._listed = names
        for key, said in ((KEEPS_PROVIDERS, self._keeps), (KEEPS_STRATEGY, self._default_strategy)):
            if said is not None:
                self._resource.add_override(f"Metadata.{METADATA_KEY}.{key}", value=True)
        if self._keeps:
            # When CloudFormation deletes the resource it writes an empty list.
            self._resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)

    def _become_writer(self) -> None:
        if self._is_writer:
            return
        self._is_writer = True
        if isinstance(self._given, ecs.Cluster):
            _WRITERS[self._given] = self
        else:
            self._scope.node.root.node.add_metadata(_WRITER_OF_IMPORTED, [self._imported_key, self.stack.node.path])

    def _require_only_writer(self) -> None:
        writer = None if self._is_writer else self._other_writer()
        if writer is not None:
            here = writer == self.stack.node.path
            raise IncompatibleError(
                f"stack {writer} already writes the list of capacity providers of this cluster, and a second list "
                "would replace it",
                argument="cluster",
                value=shown(self._given),
                fix="add to the GpuCluster that is already there"
                if here
                else "add all capacity of one cluster in one stack, and use it from the others, or name what plain CDK "
                "lists there in keep_capacity_providers and default_strategy",
            )

    def _other_writer(self) -> str | None:
        """Path of the stack that already writes the list; None if this one may."""
        if isinstance(self._given, ecs.Cluster):
            other = _WRITERS.get(self._given)
            if other is not None:
                # CDK keeps one list for a cluster that it made in the same stack, whoever adds to it.
                return None if self._own_cluster and other.is_written_by_cdk else other.stack.node.path
            theirs, strategy = self._given.capacity_provider_names, self._given.default_capacity_provider_strategy
            keeps_all = set(theirs) <= set(self._keeps or ()) and (self._default_strategy is not None or not strategy)
            return None if self._own_cluster or keeps_all else self._given.stack.node.path
        notes = (each.data for each in self._scope.node.root.node.metadata if each.type == _WRITER_OF_IMPORTED)
        return next((stack for key, stack in notes if key == self._imported_key), None)

    @cached_property
    def _imported_key(self) -> str:
        """Two imports of one name into one environment are one cluster."""
        environment: str = self.stack.environment
        if "unknown-" in environment:
            # Stages that say nothing else usually go to different accounts.
            stage = cdk.Stage.of(self._scope)
            environment += f"/{stage.node.path if stage else ''}"
        name = self._given.cluster_name
        if not is_token(name):
            return f"{environment}/{name}"
        # The same for the same export or SSM parameter in any stack.
        resolved = self.stack.resolve(name)
        of_stack = isinstance(resolved, dict) and "Ref" in resolved and not resolved["Ref"].startswith(_OF_SSM)
        return f"{environment}/{self.stack.node.path if of_stack else ''}/{json.dumps(resolved, sort_keys=True)}"

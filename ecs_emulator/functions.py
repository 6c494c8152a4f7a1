"""Lambda functions of a stack, which exist and never run, and what CDK's own custom resource does with one.

moto 5.2.5 cannot delete a permission.
"""

from __future__ import annotations

import json
from typing import Any

from moto.awslambda.models import lambda_backends
from moto.awslambda.policy import Policy
from moto.ec2.models import ec2_backends

from .resource import Properties, Region, Resource

__all__ = ["Permission", "RestrictDefaultSecurityGroup"]


class Permission(Resource):
    """Who may invoke a function."""

    type_name = "AWS::Lambda::Permission"
    create_only = frozenset({"*"})

    def __init__(self, name: str, policy: Policy, sid: str) -> None:
        super().__init__(name)
        self._policy, self._sid = policy, sid

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Permission:
        function: Any = lambda_backends[region.account_id][region.name].get_function(properties["FunctionName"])
        function.policy.add_statement(raw=json.dumps({"StatementId": name, **properties}))
        return cls(name, function.policy, name)

    def remove(self, region: Region) -> None:
        self._policy.del_statement(self._sid)


class RestrictDefaultSecurityGroup(Resource):
    """Takes the rules of a VPC's default security group away, and gives them back when it is deleted.

    CDK adds it to each ``ec2.Vpc`` under the flag ``@aws-cdk/aws-ec2:restrictDefaultSecurityGroup``.
    """

    type_name = "Custom::VpcRestrictDefaultSG"
    create_only = frozenset({"DefaultSecurityGroupId"})

    def __init__(self, name: str, group: Any) -> None:
        super().__init__(name)
        self._group, self._rules = group, (group.ingress_rules, group.egress_rules)
        group.ingress_rules, group.egress_rules = [], []

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> RestrictDefaultSecurityGroup:
        ec2 = ec2_backends[region.account_id][region.name]
        return cls(name, ec2.get_security_group_from_id(properties["DefaultSecurityGroupId"]))

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        self._group.ingress_rules, self._group.egress_rules = self._rules

"""Regions and accounts: what CDK joins across them at synth, and AWS does not find after the deploy."""

from __future__ import annotations

import aws_cdk as cdk

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError


def require_same_place(
    stack: cdk.Stack, argument: str, *, region: str, account: str | None = None, what: str, why: str
) -> None:
    """Refuses what is certain to be in another region or account than the stack that uses it.

    Args:
        stack: The stack that uses it.
        argument: The argument, as the user spells it.
        region: Its region.
        account: Its account; None where another one is as good.
        what: What it is.
        why: What does not work there.

    Raises:
        IncompatibleError: It is in another one.
    """
    places = [("region", stack.region, region)]
    if account is not None:
        places.append(("account", stack.account, account))
    for kind, here, there in places:
        if here != there and not is_token(here) and not is_token(there):
            raise IncompatibleError(
                f"the {what} is in {kind} {there}, and stack {stack.node.path} in {here}, {why}",
                argument=argument,
                value=there,
                allowed=here,
                fix=f"a stack in {kind} {there}, or a {what} in {here}",
            )

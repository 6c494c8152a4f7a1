"""How a service is reached: what its methods for load balancers return."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs.errors import InvalidValueError


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEndpoint:
    """An Application Load Balancer's way to a service.

    Attributes:
        listener: Where requests arrive.
        target_group: The tasks that they are sent to.
        url: Where the service answers, by the name that AWS gives the load balancer; a certificate is for your own
            domain, which an alias record leads to `load_balancer`. Empty for a listener of yours.
        balancer: The load balancer; None for a listener of yours.
    """

    listener: elbv2.IApplicationListener
    target_group: elbv2.ApplicationTargetGroup
    url: str
    balancer: elbv2.ApplicationLoadBalancer | None

    @property
    def load_balancer(self) -> elbv2.ApplicationLoadBalancer:
        """The load balancer, whose other settings CDK's `set_attribute` writes.

        Raises:
            InvalidValueError: The listener is yours, and so is its load balancer.
        """
        if self.balancer is None:
            raise InvalidValueError(
                "the service is a rule of your listener, and made no load balancer",
                argument="listener",
                fix="the load balancer that your listener belongs to",
            )
        return self.balancer


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkEndpoint:
    """A Network Load Balancer's way to a service.

    Attributes:
        load_balancer: The load balancer.
        listener: Where connections arrive.
        target_group: The tasks that they are passed to.
        address: Where the service answers, as ``name:port``, by the name that AWS gives the load balancer.
    """

    load_balancer: elbv2.INetworkLoadBalancer
    listener: elbv2.NetworkListener
    target_group: elbv2.NetworkTargetGroup
    address: str

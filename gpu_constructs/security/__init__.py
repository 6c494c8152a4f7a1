"""What does an app add once for its security review, whatever its clusters and services are?

`aws_solutions` acknowledges the findings of cdk-nag in the resources of this library, each with its reason.
`host_endpoints` has the VPC endpoints of hosts in subnets without NAT.
"""

__all__ = []

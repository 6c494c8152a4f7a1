"""What does a service need to be reached, to start with its model, and to follow its load?

`door` is where requests arrive in a task: a container, its port, and what that means for security groups and target
groups. `endpoint` has the load balancers in front of it, `deployment` how a service replaces its tasks, and `scaling`
what their number follows.
"""

__all__ = []

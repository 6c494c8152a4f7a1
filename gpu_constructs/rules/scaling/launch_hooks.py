"""Lifecycle hooks: does a new host come into service?"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.fleet import HostAction, Pool, Unknown
from gpu_constructs.rules.rule import Problem, Problems, warning


@warning(
    "GPU316",
    question="does something complete the lifecycle hook that new hosts wait for?",
    because="a new host waits until something completes the action of each launch hook; after the timeout the default "
    "result ABANDON ends the host, and the group launches the next one, which waits as well",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutLifecycleHook.html",
    stops_work=True,
)
def launch_is_completed(pool: Pool) -> Problems:
    if not pool.has_image_of_aws or HostAction.COMPLETES_HOOKS not in pool.user_data.actions_never_taken:
        return
    for hook in pool.group.launch_hooks:
        waits = "" if isinstance(hook.seconds, Unknown) else f" after {hook.seconds} seconds"
        yield Problem(
            message=f"new hosts of {pool.name} wait for the lifecycle hook {brief(hook.name)}, which nothing in these "
            f"files completes: the default result ABANDON ends them{waits}",
            fix="aws autoscaling complete-lifecycle-action at the end of the user data, a function that completes the "
            "action, or DefaultResult: CONTINUE",
            property_name="DefaultResult",
            origin=hook.origin,
        )

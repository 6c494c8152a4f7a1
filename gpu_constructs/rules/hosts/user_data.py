"""User data: does the operating system read it, and what does the ECS agent make of it?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import PARTLY_SPOT, Pool, PoolKind, Unknown, UserDataFormat
from gpu_constructs.hardware import OperatingSystem
from gpu_constructs.placement.machine import gpu_support_is_off, is_off
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import with_verb
from gpu_constructs.rules.rule import Problem, error, warning

_AGENT = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html"
_CLOUD_INIT = frozenset({UserDataFormat.SHELL, UserDataFormat.CLOUD_CONFIG, UserDataFormat.MIME})


@error(
    "GPU057",
    question="is the user data in the form that the operating system reads?",
    because="Bottlerocket reads settings in TOML and has no shell; Amazon Linux reads what cloud-init knows, which is "
    "not TOML; the hosts then do not join your cluster",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-bottlerocket.html",
)
def readable(pool: Pool) -> Iterator[Problem]:
    form = pool.user_data.format
    if isinstance(pool.image, Unknown) or isinstance(form, Unknown):
        return
    bottlerocket = pool.image.image.operating_system is OperatingSystem.BOTTLEROCKET
    if bottlerocket and form in _CLOUD_INIT:
        yield Problem(
            message=f"the user data is a {form.value}, and {pool.image.image.name} reads TOML only",
            fix='[settings.ecs] and cluster = "…" in TOML',
            property_name="UserData",
        )
    if not bottlerocket and form is UserDataFormat.TOML:
        yield Problem(
            message=f"the user data is TOML, and {pool.image.image.name} reads shell scripts and cloud-config",
            fix="a shell script that writes to /etc/ecs/ecs.config",
            property_name="UserData",
        )


@error(
    "GPU058",
    question="does the ECS agent register the GPUs?",
    because="with ECS_ENABLE_GPU_SUPPORT off the agent registers a host without its GPUs; on the GPU image, too, the "
    "user data overrides the setting of the image",
    source=_AGENT,
)
def gpu_support(context: Context) -> Iterator[Problem]:
    suspects = [pool for pool in context.fleet.pools if gpu_support_is_off(pool)]
    waiting_on = context.gpu_workloads if suspects else {}
    for pool in suspects:
        waiting = waiting_on.get(pool.name)
        if waiting:
            yield Problem(
                about=pool,
                message="ECS_ENABLE_GPU_SUPPORT is off, which keeps the agent from registering the GPUs that "
                f"{with_verb((each.name for each in waiting), 'asks', 'ask')} for",
                fix="leave ECS_ENABLE_GPU_SUPPORT out; the GPU image sets it",
                property_name="UserData",
            )


@warning(
    "GPU098",
    question="do the hosts join the cluster of their capacity provider?",
    because="without a cluster in its settings the agent joins the cluster called default",
    source=_AGENT,
)
def joins(pool: Pool) -> Iterator[Problem]:
    if not pool.has_provider or not isinstance(pool.cluster, str) or pool.cluster == "default":
        return
    if _says_nothing_about(pool, "ECS_CLUSTER"):
        yield Problem(
            message=f"the user data names no cluster, so its hosts join the cluster default and not {pool.cluster}",
            fix="ECS_CLUSTER in /etc/ecs/ecs.config, or on Bottlerocket cluster in [settings.ecs]",
            property_name="UserData",
        )


@warning(
    "GPU059",
    question="do Spot hosts drain before EC2 reclaims them?",
    because="without ECS_ENABLE_SPOT_INSTANCE_DRAINING a host that has two minutes left keeps its tasks and may get "
    "new ones until it is gone",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-spot.html",
)
def drains(pool: Pool) -> Iterator[Problem]:
    if pool.bought.option not in PARTLY_SPOT:
        return
    variable = "ECS_ENABLE_SPOT_INSTANCE_DRAINING"
    off = is_off(pool.user_data.get(variable))
    if off or _says_nothing_about(pool, variable):
        yield Problem(
            message=f"its hosts are {pool.bought.option}, and {variable} is {'off' if off else 'not set'}: tasks die "
            "with a host that is reclaimed",
            fix=f"{variable}=true in /etc/ecs/ecs.config",
            property_name="UserData",
        )


def _says_nothing_about(pool: Pool, variable: str) -> bool:
    """Whether it is certain that neither the user data nor an image of the user's own sets an agent variable."""
    return (
        pool.kind in {PoolKind.AUTO_SCALING_GROUP, PoolKind.INSTANCE}
        and not isinstance(pool.image, Unknown)
        and pool.image.release != "custom"
        and pool.user_data.complete
        and not isinstance(pool.user_data.format, Unknown)
        and pool.user_data.get(variable) is None
    )

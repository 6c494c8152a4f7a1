"""Local disks: do hosts whose user data prepares an instance store have one?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import LocalDiskUse, Pool
from gpu_constructs.rules.evidence.lists import and_list, with_verb
from gpu_constructs.rules.rule import Problem, warning


@warning(
    "GPU174",
    question="does every host have the local disks that its user data prepares?",
    because="a type without an instance store has nothing to prepare: scratch data and images are then on the root "
    "volume, or the host takes no task",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html",
)
def has_local_disks(pool: Pool) -> Iterator[Problem]:
    use = pool.user_data.local_disks
    if use is LocalDiskUse.NONE:
        return
    # Of a type that no region offers, the catalogue does not know the disks.
    without = [each.name for each in pool.instance_types if not each.local_disks and each.regions]
    others = [each.name for each in pool.instance_types if each.local_disks]
    if without:
        yield Problem(
            message=f"{with_verb(without, 'has', 'have')} no local disks, and the user data prepares them for "
            f"{use.value}",
            fix=f"only {and_list(others)}" if others else "types with an instance store, such as g6.xlarge",
            property_name="UserData",
            value=use.value,
        )
    elif not pool.types_are_known:
        yield Problem(
            message=f"the user data prepares local disks for {use.value}, and whether the hosts have any is not known "
            "before the deploy",
            fix="instance types that are known at synth",
            property_name="UserData",
        )

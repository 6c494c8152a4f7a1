"""A task definition whose volumes have names of their own: ECS refuses two of one name, and CDK writes both."""

from __future__ import annotations

from itertools import count
from typing import Any

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.calls import written_if_refused
from gpu_constructs.cdk.overrides import called_like
from gpu_constructs.errors import InvalidValueError


class NamedVolumes(ecs.Ec2TaskDefinition):
    """Refuses a second volume of one name."""

    _names_of_volumes: frozenset[str] = frozenset()

    def free_volume_name(self, name: str) -> str:
        """This name, or with a number after it where a volume has it."""
        taken = self._names_of_volumes
        return (
            name
            if name not in taken
            else next(each for each in (f"{name}-{number}" for number in count(2)) if each not in taken)
        )

    @called_like(ecs.TaskDefinition.add_volume)
    @written_if_refused
    def add_volume(
        self,
        *,
        name: str,
        **options: Any,  # noqa: ANN401 - the other arguments are CDK's and stay as they are
    ) -> None:
        """Adds a volume.

        Args:
            name: Its name, which no other volume of the task has.
            **options: Every other argument of `ecs.TaskDefinition.add_volume`.

        Raises:
            InvalidValueError: Another volume has the name.
        """
        if name in self._names_of_volumes:
            raise InvalidValueError(
                "the task has a volume of this name already",
                argument="name",
                value=name,
                fix=f"another name, such as {self.free_volume_name(name)!r}; a cache of add_model_server has its own",
            )
        ecs.TaskDefinition.add_volume(self, name=name, **options)
        self._names_of_volumes |= {name}

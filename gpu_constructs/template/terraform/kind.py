"""How it is written which resource of Terraform is which of CloudFormation, and what its arguments are called there.

The name of an argument is that of the property with capitals, ``min_size`` and ``MinSize``, and a block is an object.
What differs is written in `kinds`, a resource after the other, each with its type and below that its arguments. What
is indented further is in a block:

    load_balancer = LoadBalancers[]            a block that may be there several times, as a list of objects
        elb_name = LoadBalancerName            another name, of an argument in the block
    deployment_maximum_percent = DeploymentConfiguration.MaximumPercent    further down
    health_check = .                           what is in the block belongs to what is around it
    status =                                   left out, as its name is that of another property; what is not read is
                                               not left out
    instance_refresh = /UpdatePolicy.…         beside the properties of the resource
    container_definitions = ContainerDefinitions json    a form, see `Form`
    compute_resources                          only opens a block, whose name does not differ

Behind the type may be where the properties are that the arguments become: ``AWS::Events::Rule.Targets.0``.

https://registry.terraform.io/providers/hashicorp/aws/latest/docs, versions 4 to 6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from gpu_constructs.facts.values import dataclass
from gpu_constructs.template.documents.node import Node


class Form(Enum):
    """What becomes of a value."""

    PLAIN = ""
    JSON = "json"  # a text that is JSON in the words of an API
    POLICY = "policy"  # a text that is JSON in words of its own
    FREE = "free"  # an object with keys of the user
    ONE = "one"  # the only item of a list
    SWITCH = "switch"  # true and false as ENABLED and DISABLED
    HASHED = "hashed"  # a text that Terraform keeps as its SHA-1
    PAIRS = "pairs"  # an object as a list of names and values
    ORDER = "order"  # a list as objects with the number of each
    SERVICE = "service"  # a reference to a service, as the scaling of applications names it


def words(text: str) -> list[str]:
    """The words of a text, as a table of names is written."""
    return text.split()


@dataclass(frozen=True, slots=True)
class Argument:
    """What an argument is called.

    Attributes:
        steps: Names from the object around it, or from the resource; none where it belongs to what is around it.
        is_list: Whether the block may be there several times.
        form: What becomes of its value.
        is_of_resource: Whether the steps begin at the resource.
        is_left_out: Whether it is left out.
    """

    steps: tuple[str, ...]
    is_list: bool = False
    form: Form = Form.PLAIN
    is_of_resource: bool = False
    is_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One resource of Terraform.

    Attributes:
        type: The type of CloudFormation.
        names: Arguments whose names differ.
        below: Where the properties are that arguments become.
        is_bare: Whether it only matters that it is there.
        otherwise: What a property is where the argument is left out and Terraform has another default.
    """

    type: str
    names: Mapping[str, Argument] = field(hash=False)
    below: tuple[str | int, ...]
    is_bare: bool
    otherwise: Mapping[str, Node] = field(hash=False)


def argument_of(written: str) -> Argument:
    """What is written of an argument, as the table has it."""
    if not written:
        return Argument((), is_left_out=True)
    target, _, form = written.partition(" ")
    is_of_resource, is_list = target.startswith("/"), target.endswith("[]")
    steps = target.removeprefix("/").removesuffix("[]").strip(".")
    return Argument(
        tuple(steps.split(".")) if steps else (),
        is_list=is_list,
        form=Form(form),
        is_of_resource=is_of_resource,
    )


# Words that CloudFormation writes in another way than with one capital.
_WORDS = {"gb": "GB", "gib": "GiB", "mib": "MiB", "vcpu": "VCpu"}


def capitalized(name: str) -> str:
    """The property of an argument of which nothing is written."""
    return "".join(_WORDS.get(word, word[:1].upper() + word[1:]) for word in name.split("_"))

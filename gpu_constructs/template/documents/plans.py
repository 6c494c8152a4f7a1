"""Is a file a plan of Terraform or OpenTofu, or what a plan is made from? What one says is read elsewhere.

https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.model import UnreadableError

HOW = "terraform plan -out=tf.plan && terraform show -json tf.plan > plan.json"
"""How a plan is made that can be read."""

LATER: dict[str, Node] = {"Terraform::KnownAfterApply": None}
"""What stands in the template of a plan for a value that only the apply knows, or that must not be shown."""

_KEYS = frozenset({"format_version", "terraform_version"})
_STATE_FILE = frozenset({"lineage", "serial", "terraform_version"})
_SOURCES = (".tf", ".tofu", ".tf.json", ".tfvars", ".tfvars.json")
_ARCHIVE, _IN_ARCHIVE = b"PK\x03\x04", b"tfplan"
# What the action setup-terraform writes around the output of Terraform.
_COMMAND, _WORKFLOW = "[command]", "::"


def is_plan(data: Node) -> bool:
    """Whether a parsed file is a plan or a state of Terraform or OpenTofu, be it in a form that is not read."""
    return isinstance(data, dict) and (data.keys() >= _KEYS or data.keys() >= _STATE_FILE)


def without_wrapper(text: str) -> str:
    """A text without the lines that CI writes around the output of Terraform; line numbers stay."""
    if not text.startswith(_COMMAND):
        return text
    lines = text.split("\n")
    return "\n".join("" if each.startswith((_COMMAND, _WORKFLOW)) else each for each in lines)


def require_no_source(file: str, content: bytes) -> None:
    """Refuses what a plan is made from, and a plan that only Terraform itself can read: says how to make one."""
    if content.startswith(_ARCHIVE) and _IN_ARCHIVE in content:
        reason, fix = "a saved plan, which only Terraform itself reads", f"terraform show -json {file} > plan.json"
    elif file.lower().endswith(_SOURCES):
        reason, fix = "a configuration of Terraform, not a plan", HOW
    else:
        return
    raise UnreadableError(reason, file=file, allowed="a plan in JSON", fix=f"{fix}, and name plan.json")

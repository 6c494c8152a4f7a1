"""torchrun in a command: how many processes does it start, and which exit codes does it hide?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_constructs.fleet import Container
from gpu_constructs.rules.evidence.server_commands import NUMBER, UNREAD

EXIT_CODE = 1
"""The exit code of an exception in Python, which is how torchrun ends whatever its processes ended with."""

FIRST_SIGNAL_CODE = 126
"""The first exit code of a shell and of signals: of what happens to torchrun itself."""

ENDS_AS_ITSELF = f"torchrun ends with {EXIT_CODE} whatever its script ends with"

_STARTS = r"(?:\S*/)?(?:torchrun|python[0-9.]* -m torch\.distributed\.run)(?:\s|$)"
# "If used for GPU training, this number needs to be less or equal to the number of GPUs"; behind the program, options
# are its own: https://docs.pytorch.org/docs/stable/elastic/run.html. Accelerate lets processes share a GPU, so that its
# --num_processes may be any: https://github.com/huggingface/accelerate/pull/2916
_OPTION = r"\s+-(?!(?:m|-module)\s+[^-])[^\s;&|]+(?:(?<!standalone)(?<!no.python)\s+(?!-|\S*\.py\b)[^\s;&|]+)?"
_ALONE = rf"(?:\S*sh -c )?{_STARTS}(?!(?s:.*)(?i:nproc))"  # its own words, which do not say how many
_PROCESSES = (
    rf"\b(?:torchrun|torch\.distributed\.(?:run|launch))(?:{_OPTION}){{0,30}}?"
    r"\s+--nproc[-_]per[-_]node[\s=]([0-9]{1,4})(?![^\s;&|])"
)


def is_program_of(command: Sequence[str]) -> bool:
    """Whether the program of a command is torchrun, and no shell around it, which may end otherwise."""
    return re.match(_STARTS, " ".join(command)) is not None


def hidden_exit_codes(exit_codes: Sequence[int]) -> list[int]:
    """Those of some exit codes that a job whose program is torchrun never ends with."""
    return [each for each in exit_codes if EXIT_CODE < each < FIRST_SIGNAL_CODE]


def processes_of_torchrun(container: Container) -> int:
    """Processes that torchrun starts on each host, the most of several commands; 0 where no number says it.

    Its options have defaults in variables: https://github.com/pytorch/pytorch/blob/main/torch/distributed/argparse_util.py
    """
    text = " ".join(map(str, (*container.entry_point, *container.command))).replace("\\\n", " ")
    variable = str(dict(container.environment).get("PET_NPROC_PER_NODE", ""))
    is_default = re.match(_ALONE, text) and re.fullmatch(NUMBER, variable)
    found = [int(each[1]) for each in re.finditer(_PROCESSES, text)]
    return 0 if re.search(UNREAD, text) else max(found, default=int(variable) if is_default else 0)

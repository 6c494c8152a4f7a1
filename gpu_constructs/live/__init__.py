"""Why does a task of a running cluster wait, and did its hosts come up as they should?

What the ``describe-*`` calls answer is read as the fleet that it is, in the same words as a template.

Pure: the answers come from `gpu_constructs.account.live_cluster`, or from files and pipes of ``aws ecs describe-…``.
"""

from gpu_constructs.live.described import Answers, answers, parsed
from gpu_constructs.live.hosts import Cause, Layer
from gpu_constructs.live.subjects import Subject, subject_called
from gpu_constructs.live.verified import Check, verify
from gpu_constructs.live.waiting import Diagnosis, why

__all__ = [
    "Answers",
    "Cause",
    "Check",
    "Diagnosis",
    "Layer",
    "Subject",
    "answers",
    "parsed",
    "subject_called",
    "verify",
    "why",
]

"""What asks AWS for the checks of a pre-flight: only calls that read, and each of them once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.calls import Calls, clients_of
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.preflight.check import Answer, Ask, odd

READ_ONLY = ("Describe", "Get", "List")
"""What the names of operations begin with that change nothing."""

_PAGES = 30
"""Pages that are read of one answer: 30,000 hosts, which leaves the other calls of the command some time."""

# Of a page that is not of AWS, such as that of a hotel, botocore makes an answer of EC2 without rows, and no rows is
# a fact. AWS gives each answer the id of its request
# (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSubnets.html).
_NUMBERED = "ec2"

_IF_DENIED = "gpu-constructs preflight --policy prints the policy"


def asker(profile: str | None, deadline: Deadline | None = None) -> Callable[[str], Ask]:
    """What asks AWS, by region, with the credentials of a profile, or those that boto3 finds without one."""
    clients, whole = clients_of(profile), deadline or Deadline()
    return lambda region: _Asker(Calls(clients, region, if_denied=_IF_DENIED, deadline=whole)).ask


class _Asker:
    """Asks in one region; what was asked before is answered as before."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._known: dict[str, Answer | UnansweredError] = {}
        self._out_of_reach: dict[str, UnansweredError] = {}

    def ask(self, call: str, arguments: Mapping[str, object]) -> Answer:
        service, _, operation = call.partition(":")
        if not operation.startswith(READ_ONLY):
            raise UnansweredError(f"{call} may change something and is never called")
        key = json.dumps([call, arguments], sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = self._out_of_reach.get(service) or self._asked(call, service, arguments)
        found = self._known[key]
        if isinstance(found, UnansweredError):
            raise found
        return found

    def _asked(self, call: str, service: str, arguments: Mapping[str, object]) -> Answer | UnansweredError:
        try:
            pages, has_more = self._calls.pages(call, _PAGES, **arguments)
        except UnansweredError as problem:
            if problem.is_out_of_reach:
                self._out_of_reach[service] = problem
            return problem
        if service == _NUMBERED and not all(map(_has_number, pages)):
            return odd(call)
        return Answer(call, pages, has_more)


def _has_number(page: object) -> bool:
    """Whether an answer has the id of its request."""
    metadata = page.get("ResponseMetadata") if isinstance(page, Mapping) else None
    return isinstance(metadata, Mapping) and bool(metadata.get("RequestId"))

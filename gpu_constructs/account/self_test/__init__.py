"""The self-test: do GPUs give what their types should? A task on each kind of host shows it; this changes something.

::

    from gpu_constructs.account.calls import clients_of
    from gpu_constructs.account.self_test import Request, run_self_test

    end = run_self_test(clients_of(None), Request(cluster="demo", capacity=("L4",)))
    for check in end.checks:
        print(check.name, check.about, check.passed, check.text)
    print("left behind:", *end.left)
"""

from gpu_constructs.account.self_test.request import Request, policy
from gpu_constructs.account.self_test.run import SelfTestEnd, run_self_test

__all__ = ["Request", "SelfTestEnd", "policy", "run_self_test"]

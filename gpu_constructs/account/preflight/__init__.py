"""Pre-flight: can this account have what the files ask for? Questions to AWS that only read, and what the answers mean.

::

    from gpu_constructs.account.preflight import preflight
    from gpu_constructs.account.preflight.asking import asker
    from gpu_constructs.check.report import check_files

    for result in preflight(check_files(["cdk.out"], rules=()).fleet, asker(None)):
        print(result.verdict, result.check, result.subject, result.text, result.fix)

Where things are: `check` has the words that every check uses and reads what AWS answered, `run` lists all checks with
the policy that they need, and asks them, region by region. The checks are in `offers`, `quotas` and `reservations`.
Only `asking` imports boto3.
"""

from gpu_constructs.account.preflight.check import Check, Result, Verdict
from gpu_constructs.account.preflight.run import CHECKS, policy, preflight

__all__ = ["CHECKS", "Check", "Result", "Verdict", "policy", "preflight"]

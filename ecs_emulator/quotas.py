"""Service Quotas, which `gpu-constructs preflight` asks. EC2 refuses nothing here for a quota, so none is too low."""

from __future__ import annotations

import json

from moto.servicequotas.responses import ServiceQuotasResponse

__all__ = ["NONE_TOO_LOW", "install"]

NONE_TOO_LOW = 1_000_000.0
"""vCPUs, more than all hosts of an account have."""


def _get_aws_default_service_quota(response: ServiceQuotasResponse) -> str:
    asked = json.loads(response.body)
    return json.dumps({"Quota": {**asked, "Value": NONE_TOO_LOW, "Adjustable": True}})


def install() -> None:
    """Answer GetAWSDefaultServiceQuota, which moto 5.2.5 does not; an account has no other value of a quota of EC2."""
    ServiceQuotasResponse.get_aws_default_service_quota = _get_aws_default_service_quota  # type: ignore[attr-defined]

"""Which hosts and which jobs does a queue of AWS Batch have?

`queue` puts the resources together: hosts of an `environment`, and each `job`, which is `work` on one of them.
`environment_plan` and `job_plan` check them before anything is made; `market`, `retries` and `shares` are what a queue
and its jobs can be asked to be.
"""

__all__ = []

"""Which hosts and which jobs does a queue of AWS Batch have?

`queue` puts the resources together; `environment_plan` and `job_plan` check them before anything is made; `market`,
`retries` and `shares` are what a queue and its jobs can be asked to be.
"""

__all__ = []

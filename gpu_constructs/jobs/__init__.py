"""How does work that ends get a host, how often is it tried again, and what starts it?

`gpu_job` is the construct, on `started_job`, which is what starts it. `states` is its state machine as plain data, with
the budgets of `retries`; `permissions` is what the machine may do; `data` is where a job reads, writes and resumes.
"""

__all__ = []

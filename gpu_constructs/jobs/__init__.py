"""How does work that ends get a host, how often is it tried again, and what starts it?

`retries` is how often a job is run again, and for which causes; `states` is the state machine that does so, as plain
data; `permissions` is what the machine may do; and `gpu_job` is the construct.
"""

__all__ = []

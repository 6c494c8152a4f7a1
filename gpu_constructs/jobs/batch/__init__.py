"""Which hosts and which jobs does a queue of AWS Batch have?

`queue` puts the resources together: the hosts of each `environment`, and each `job`. `environment_plan` and `job_plan`
check them before anything is made; `job_options` is what they can be asked to be.
"""

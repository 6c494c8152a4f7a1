"""How does work that ends get a host, how often is it tried again, and what starts it?

`gpu_job` is the construct, `job_task` what it takes of its task, and `starts` what starts it. `job_run` is what each
attempt runs and how often, `states` its state machine as plain data, `machine` the resource, and `data` where a job
reads, writes and resumes. `batch` is the same on AWS Batch, `training` work over several hosts.
"""

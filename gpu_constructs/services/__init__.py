"""How does a service spread its tasks, how is it reached, and how does it follow its load?

`gpu_service` is the construct. `service_options` is what CDK gets as it was given. `counts` is how many tasks a service
has and how it is deployed, by `deployment`, which is how services share hosts; `scaling` is what their number may
follow. `balancers` are the load balancers in front of a service, `endpoint` is what users get and where requests arrive
in a task. `security_rules` writes rules once that several services need. `cpu_service` has no accelerators.
"""

"""How does a service spread its tasks, how is it reached, and how does it follow its load?

`gpu_service` is the construct. `deployment` is how services share hosts: the percentages of their deployments and what
they fill first; `service_options` is what CDK gets as it was given. `target` is where requests arrive in a task,
`listener_choice` what users choose for a listener, `endpoint` the load balancers in front of a service, and
`load_balanced_service` a service that gets one. `scaling` is what the number of tasks may follow, by `metrics`, and
`counts` how many there are. `security_rules` lets services reach one another. `cpu_service` has no accelerators.
"""

__all__ = []

"""How does a service spread its tasks, how is it reached, and how does it follow its load?

`deployment` has the shares of its capacity and the percentages of its deployments, `service_options` what CDK gets as
it was given. `target_port` is where requests arrive in a task, `targeted_service` a service that load balancers send
them to, `listener_choice` what users choose for a listener, `listener_use` the ports and priorities that are in use,
`endpoint` the load balancers in front of a service, and `load_balanced_service` a service that gets one. `scaling` is
what the number of tasks may follow, `step_adjustments` how many tasks a queue asks for, and `scaled_service` a service
with such a number. `cpu_service` has no accelerators.
"""

__all__ = []

"""Which pools, tasks and workloads are these resources? The last step of reading, a file for each kind of resource.

`fleet` asks the readers: `tasks` and `containers`, `services`, `clusters`, `pools` with their `groups`, `launch`
templates and `managed` instances, `batch_hosts` and `batch_jobs`. They find each other through the `index`, call things
by their `names`, and read properties as a `section`, which notes what is odd and never raises.
"""

__all__: list[str] = []

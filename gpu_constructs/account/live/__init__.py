"""Why does a task of a running cluster wait, and did its hosts come up as they should?

What the ``describe-*`` calls answer is read as the fleet that it is, in the same words as a template.

Pure: the answers come from `gpu_constructs.account.live_cluster`.
"""

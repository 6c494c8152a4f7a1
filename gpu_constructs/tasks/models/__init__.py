"""What does a container that serves a model run, and where does it keep what it loads?

`model_server` has the servers that people run as values, `model_cache` the places that keep models, `cache_storage`
what each of them is in a task, and `served_container` what server and cache make of a container with GPUs.
"""

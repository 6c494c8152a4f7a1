"""The command line: ``gpu-constructs check cdk.out`` says why a GPU task would never start, before it is deployed.

One file per command (`check`, `explain`, `instances`, `rules`), loaded when it is called; writers for people
(`text_report`), programs (`json_report`) and code scanners (`sarif_report`). It knows no cloud library, needs no
account and starts no Node process.
"""

from gpu_constructs.cli.program import main

__all__ = ["main"]

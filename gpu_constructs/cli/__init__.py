"""Why would a GPU task never start? ``gpu-constructs check cdk.out`` answers on the command line, before a deploy.

The `program` finds the command and turns what goes wrong into words and exit codes. One file per command (`check`,
`explain`, `instances`, `rules`) is loaded when it is called; what it reads is in `inputs`. Reports are text for people
(`check`), and JSON or SARIF for programs (`machine_reports`); `output` brings them to their reader. A check knows no
cloud library, needs no account and starts no Node process.
"""

from gpu_constructs.cli.program import main

__all__ = ["main"]

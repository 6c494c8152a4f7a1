"""Why would a GPU task never start? ``gpu-constructs check cdk.out`` answers on the command line, before a deploy.

The `program` finds the command and turns what goes wrong into words and exit codes. One file per command is loaded when
it is called: `check`, `doctor`, `explain`, `instances`, `plan` and `rules` read files, `init` and `new` write some,
`preflight`, `run_self_test`, `stop_tasks`, `verify` and `why` ask an account, `completion` is for the shell. What they
read is in `inputs`, `instance_flags` and `live_answers`, and arguments of several commands are in `options`.
Each writes its report as text and JSON, a check also in those of `formats`; `output` brings them to their reader.
A check knows no cloud library, needs no account and starts no Node process.
"""

from gpu_constructs.cli.program import main

__all__ = ["main"]

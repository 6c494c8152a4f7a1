"""``gpu-constructs completion``: what completes commands, options and their values in a shell."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from gpu_constructs.cli.program import COMMANDS, module_of

EXAMPLES = """\
examples:
  gpu-constructs completion bash > ~/.local/share/bash-completion/completions/gpu-constructs
  source <(gpu-constructs completion zsh)               in ~/.zshrc, below compinit
  gpu-constructs completion fish > ~/.config/fish/completions/gpu-constructs.fish

exit codes:
  0 it is written, 2 wrong usage
"""

_BASH = """\
_gpu_constructs() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words={commands}
  else
    case "${{COMP_WORDS[1]}} $prev" in
{values}
    *)
      case "$cur" in
      -*)
        case "${{COMP_WORDS[1]}}" in
{options}
        esac ;;
      *) COMPREPLY=($(compgen -f -- "$cur")); return ;;
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o filenames -F _gpu_constructs gpu-constructs
"""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    sys.stdout.write(_SHELLS[arguments.shell]({name: tuple(_options(name)) for name in COMMANDS}))
    return 0


def _options(command: str) -> Iterator[argparse.Action]:
    """The options of a command, and what it takes where that is one of several words."""
    parser = argparse.ArgumentParser(prog=command)
    import_module(module_of(command)).define(parser)
    yield from (each for each in parser._actions if each.option_strings or each.choices)  # noqa: SLF001 - no other way


def _bash(commands: Mapping[str, tuple[argparse.Action, ...]]) -> str:
    values, options = [], []
    for name, actions in commands.items():
        for each in actions:
            if each.choices:
                before = [f'"{name} {option}"' for option in each.option_strings or (name,)]
                values.append(f"    {' | '.join(before)}) words={_quoted(each.choices)} ;;")
        names = [option for each in actions for option in each.option_strings]
        options.append(f"        {name}) words={_quoted(names)} ;;")
    return _BASH.format(commands=_quoted(commands), values="\n".join(values), options="\n".join(options))


def _fish(commands: Mapping[str, tuple[argparse.Action, ...]]) -> str:
    start, lines = "complete -c gpu-constructs -n", []
    for name, actions in commands.items():
        lines.append(f"{start} __fish_use_subcommand -f -a {name} -d {shlex.quote(COMMANDS[name])}")
        for action in actions:
            words = [f"-{'l' if each[:2] == '--' else 's'} {each.lstrip('-')}" for each in action.option_strings]
            words += [f"-x -a {_quoted(action.choices)}"] if action.choices else ["-r"] if action.nargs != 0 else []
            lines.append(f"{start} '__fish_seen_subcommand_from {name}' {' '.join(words)}")
    return "".join(f"{each}\n" for each in lines)


def _quoted(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
_SHELLS = {"bash": _bash, "zsh": lambda each: f"{_ZSH}{_bash(each)}", "fish": _fish}

"""`scrubjay completion`: a script that completes commands, options and their choices in bash, zsh or fish.

It is generated from the parser, so it fits this version, and starts no program on completion.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import NamedTuple


class _Option(NamedTuple):
    flags: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


class _Command(NamedTuple):
    words: tuple[str, ...]  # "memory", "add"
    help: str
    options: tuple[_Option, ...]
    below: tuple[str, ...]  # subcommands that may follow
    choices: tuple[str, ...]  # values of an argument that is not a file


def run_completion(arguments: argparse.Namespace) -> int:
    """Run `scrubjay completion`; return its exit code."""
    from scrubjay.cli.arguments import make_parser

    print(script(make_parser(), arguments.shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script for "bash", "zsh" or "fish"."""
    commands = list(_commands(parser, (), ""))
    if shell == "fish":
        return _fish(commands)
    script = _bash(commands)
    return (
        f"#compdef scrubjay\nautoload -U +X bashcompinit && bashcompinit\n{script}"
        if shell == "zsh"
        else script
    )


def _commands(parser: argparse.ArgumentParser, words: tuple[str, ...], help: str) -> Iterator[_Command]:
    options, below, choices = [], [], []
    inner: list[Iterator[_Command]] = []
    for action in parser._actions:  # argparse has no public way to list actions
        if isinstance(action, argparse._SubParsersAction):
            helps = {pseudo.dest: pseudo.help or "" for pseudo in action._choices_actions}
            for name, sub in action.choices.items():
                below.append(name)
                inner.append(_commands(sub, (*words, name), helps.get(name, "")))
        elif action.option_strings:
            options.append(
                _Option(
                    tuple(action.option_strings),
                    (action.help or "").partition(";")[0].partition(" (default")[0],
                    action.nargs != 0,
                    tuple(map(str, action.choices or ())),
                )
            )
        elif action.choices:
            choices += list(map(str, action.choices))
    yield _Command(words, help, tuple(options), tuple(below), tuple(choices))
    for commands in inner:
        yield from commands


def _bash(commands: list[_Command]) -> str:
    cases, values = [], []
    for command in commands:
        words = [
            *command.below,
            *command.choices,
            *(flag for option in command.options for flag in option.flags),
        ]
        cases.append(f"    {shlex.quote(' '.join(command.words))}) words={shlex.quote(' '.join(words))} ;;")
        for option in command.options:
            if option.takes_value:
                for flag in option.flags:
                    key = shlex.quote(" ".join((*command.words, flag)))
                    values.append(f'    {key}) COMPREPLY=($(compgen {_values(option)} -- "$cur")); return ;;')
    known = " ".join(shlex.quote(" ".join(command.words)) for command in commands if command.words)
    return f"""\
_scrubjay() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path='' word known words i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    for known in {known}; do
      if [ "${{path:+$path }}$word" = "$known" ]; then path=$known; break; fi
    done
  done
  case "$path $prev" in
{chr(10).join(_dedented(values))}
  esac
  case "$path" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  case "$cur" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac
}}
complete -o filenames -F _scrubjay scrubjay"""


def _dedented(values: list[str]) -> list[str]:
    return values or ["    *) ;;"]


def _values(option: _Option) -> str:
    return f"-W {shlex.quote(' '.join(option.choices))}" if option.choices else "-f"


def _fish(commands: list[_Command]) -> str:
    lines = ["complete -c scrubjay -f"]
    for command in commands:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
        depth = " ".join(command.below)
        if command.below:
            condition = f"not __fish_seen_subcommand_from {depth}"
            condition = f"{seen}; and {condition}" if seen else condition
            for name in command.below:
                help = next(other.help for other in commands if other.words == (*command.words, name))
                lines.append(f"complete -c scrubjay -n {_q(condition)} -a {name} -d {_q(help)}")
        elif seen:
            lines.append(f"complete -c scrubjay -n {_q(seen)} -F")
        if command.choices:
            lines.append(f"complete -c scrubjay -n {_q(seen)} -a {_q(' '.join(command.choices))}")
        for option in command.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
            )
            where = f"-n {_q(seen)} " if seen else ""
            value = (
                f" -x -a {_q(' '.join(option.choices))}"
                if option.choices
                else " -r"
                if option.takes_value
                else ""
            )
            lines.append(f"complete -c scrubjay {where}{flags}{value} -d {_q(option.help)}")
    return "\n".join(lines)


def _q(text: str) -> str:
    return "'" + " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'") + "'"

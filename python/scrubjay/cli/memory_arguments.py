"""The arguments of the commands below `scrubjay memory`."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_force, add_scope, command_of, positive

_MEMORY = """\
Policies, preferences, facts, episodes and traces in one file. Everything is said for one scope: a fact of
--tenant acme --user jane is visible to no other user."""


def add_memory(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands below `scrubjay memory`; `memory_command` is the name of the command."""
    memory = command_of(
        commands, "memory", "the memory of an agent in a file: add, recall, forget and more", _MEMORY
    )
    below = memory.add_subparsers(dest="memory_command", metavar="COMMAND", required=True)
    _add_add(below)
    _add_reading(below)
    _add_forgetting(below)
    _add_copies(below)
    _add_changes(below)
    _add_care(below)


def _command(
    below: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    help: str,
    *what: tuple[str, str],
    k: int | None = None,
) -> argparse.ArgumentParser:
    """Add a command on a file that Memory.open() created."""
    command = command_of(below, name, help, "FILE is a file of Memory.open().")
    command.add_argument("file", metavar="FILE")
    for argument, meaning in what:
        command.add_argument(argument, metavar=argument.upper(), help=meaning)
    add_scope(command)
    add_common(command, k=k)
    return command


def _add_add(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    add = _command(below, "add", "add a memory; the file is created if missing")
    add.add_argument("text", metavar="TEXT", nargs="?", default="", help="the text to remember")
    add.set_defaults(late="text")  # it may also follow options, which argparse does not support
    add.add_argument("--kind", choices=("fact", "preference", "policy", "episode"), default="fact")
    add.add_argument("--key", help="of a preference or policy; replaces the previous one with this key")
    add.add_argument(
        "--value",
        metavar="JSON",
        help="of a preference or policy, for programs, such as 25 or '{\"max\": 5}'; shown if there is no TEXT",
    )
    add.add_argument("--type", default="", help="the type of a preference or policy")
    add.add_argument("--title", default="", help="of an episode")
    add.add_argument(
        "--completed-at", metavar="TIME", help="when the task of an episode was completed (ISO 8601)"
    )
    add.add_argument("--subject", default="", help="the subject of a fact: a person or thing")
    add.add_argument(
        "--predicate",
        default="",
        help='the predicate of a fact; some, such as "lives in", replace the previous value',
    )
    cardinality = add.add_mutually_exclusive_group()
    cardinality.add_argument(
        "--single",
        action="store_true",
        default=None,
        help="the predicate has one value at a time: replace the previous one",
    )
    cardinality.add_argument(
        "--several",
        dest="single",
        action="store_false",
        help="the predicate has several values at once: replace nothing",
    )
    add.add_argument("--outcome", default="success", help="how an episode ended (default: success)")
    add.add_argument("--confidence", type=float, default=1.0, help="0 to 1; facts need 0.7, preferences 0.5")
    add.add_argument("--run", default="command line", help="the run that is the source")


def _add_reading(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    recall = _command(below, "recall", "find facts, episodes and notes", ("question", "the question"), k=10)
    recall.add_argument(
        "--kind", choices=("fact", "episode", "note"), action="append", help="only these (repeatable)"
    )
    known = _command(below, "known", "show all policies in force and all preferences")
    listed = _command(below, "list", "list records, kind by kind, oldest first")
    listed.add_argument(
        "--kind",
        choices=("policy", "preference", "fact", "episode"),
        action="append",
        help="only these (repeatable)",
    )
    listed.add_argument("--subject", help="only facts about this subject")
    listed.add_argument("--hidden", action="store_true", help="include records that are not in force")
    listed.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="maximum number of records (default: 100)"
    )
    history = _command(
        below,
        "history",
        "show the statements about a subject and predicate, and when they held",
        ("subject", "such as Jane"),
        ("predicate", 'such as "lives in"'),
    )
    for command in (recall, known, listed):
        command.add_argument("--as-of", metavar="TIME", help="records that held at this time (ISO 8601)")
    for command in (recall, known, listed, history):
        command.add_argument(
            "--known-at", metavar="TIME", help="records known at this time, before later corrections"
        )
    _command(
        below, "why", "show where a record comes from, and what happened to it", ("id", "id of the record")
    )
    replay = _command(
        below, "replay", "show a run event by event, and its original prompts", ("run", "name of the run")
    )
    replay.add_argument("--prompts", action="store_true", help="show the prompts, rebuilt from the trace")


def _add_forgetting(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    forget = _command(below, "forget", "erase all data of a user, or of a tenant, and verify the erasure")
    forget.add_argument(
        "--yes", action="store_true", help="erase; without this, only print the scope that would be erased"
    )
    forget.add_argument(
        "--reason", default="asked for on the command line", help="stored in the deletion event"
    )
    _command(below, "sweep", "permanently delete expired memories")


def _add_copies(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    out = _command(below, "export", "write the memory of a scope to a file", ("out", "the new file"))
    add_force(out)
    back = _command(
        below, "import", "read a file written by export, possibly edited by hand", ("source", "the file")
    )
    for command in (out, back):
        command.add_argument(
            "--format",
            choices=("jsonl", "markdown"),
            help="jsonl: everything within the scope, lossless; markdown: the records in force of exactly the "
            "scope, for editing by hand (default: by the suffix, .md or .jsonl)",
        )
    back.add_argument(
        "--from",
        dest="origin",
        choices=("mem0", "letta", "zep", "langgraph", "chatgpt", "claude"),
        help="a dump of this memory, whose statements are proposed to the gate",
    )
    back.add_argument(
        "--as-notes", action="store_true", help="with --from: write notes, which bypass the gate"
    )
    back.add_argument("--by", default="command line", help="who edited the Markdown")
    back.add_argument("--dry-run", action="store_true", help="only show what edits or --from would do")


def _add_changes(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    changes = _command(below, "changes", "show changes, oldest first")
    changes.add_argument("--since", type=int, default=0, metavar="CURSOR", help="only later changes")
    changes.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="maximum number of changes (default: 100)"
    )
    changes.add_argument(
        "--within", action="store_true", help="include scopes within this one: users and agents"
    )


def _add_care(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    confirm = _command(
        below,
        "confirm",
        "bring a provisional fact or policy of the tenant into force",
        ("id", "id of the record"),
    )
    revoke = _command(
        below, "revoke", "take a record out of force; it stays in the history", ("id", "id of the record")
    )
    hold = _command(below, "hold", "prevent the data of a scope from being forgotten, deleted or changed")
    release = _command(below, "release", "release a hold on exactly this scope")
    _command(below, "holds", "show the holds on the scopes of a tenant")
    for command in (revoke, hold):
        command.add_argument("--reason", required=True, help="stored with it, and shown")
    hold.add_argument("--name", help="name of the hold, for its release (default: the reason)")
    release.add_argument("--name", help="name of the hold, if the scope has several")
    for command in (confirm, revoke, hold, release):
        command.add_argument("--by", default="command line", help="who decided it")

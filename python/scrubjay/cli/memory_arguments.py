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
        commands, "memory", "what an agent remembers, in a file: add, recall, forget and more", _MEMORY
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
    one = command_of(below, name, help, "FILE is one that Memory.open() made.")
    one.add_argument("file", metavar="FILE")
    for argument, meaning in what:
        one.add_argument(argument, metavar=argument.upper(), help=meaning)
    add_scope(one)
    add_common(one, k=k)
    return one


def _add_add(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    add = _command(below, "add", "remember something; the file is made if there is none")
    add.add_argument("text", metavar="TEXT", nargs="?", default="", help="what to remember")
    add.set_defaults(late="text")  # it may also follow options, which argparse does not support
    add.add_argument("--kind", choices=("fact", "preference", "policy", "episode"), default="fact")
    add.add_argument("--key", help="of a preference or policy; a new one replaces the old one of its key")
    add.add_argument(
        "--value",
        metavar="JSON",
        help="of a preference or policy, for programs, such as 25 or '{\"max\": 5}'; shown if there is no TEXT",
    )
    add.add_argument("--type", default="", help="what sort of preference or policy it is")
    add.add_argument("--title", default="", help="of an episode")
    add.add_argument(
        "--completed-at", metavar="TIME", help="when the task of an episode was completed (ISO 8601)"
    )
    add.add_argument("--subject", default="", help="the subject of a fact: a person or thing")
    add.add_argument(
        "--predicate", default="", help='what it says of it; "lives in" and the like replace what is known'
    )
    cardinality = add.add_mutually_exclusive_group()
    cardinality.add_argument(
        "--single",
        action="store_true",
        default=None,
        help="the predicate has one value at a time: replace it",
    )
    cardinality.add_argument(
        "--several", dest="single", action="store_false", help="it has several at once: replace nothing"
    )
    add.add_argument("--outcome", default="success", help="how an episode ended (default: success)")
    add.add_argument("--confidence", type=float, default=1.0, help="0 to 1; facts need 0.7, preferences 0.5")
    add.add_argument("--run", default="command line", help="the run that it comes from")


def _add_reading(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    recall = _command(
        below, "recall", "find facts, episodes and notes", ("question", "what to look for"), k=10
    )
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
    listed.add_argument("--subject", help="only facts about it")
    listed.add_argument("--hidden", action="store_true", help="those that are not in force, too")
    listed.add_argument("--limit", type=positive, default=100, metavar="N", help="how many (default: 100)")
    history = _command(
        below,
        "history",
        "show what was said of a subject and predicate, and when it was so",
        ("subject", "such as Jane"),
        ("predicate", 'such as "lives in"'),
    )
    for one in (recall, known, listed):
        one.add_argument("--as-of", metavar="TIME", help="what was so then (ISO 8601)")
    for one in (recall, known, listed, history):
        one.add_argument("--known-at", metavar="TIME", help="what was known then, before later corrections")
    _command(below, "why", "show where a record comes from, and what happened to it", ("id", "of the record"))
    replay = _command(
        below, "replay", "show a run event by event, and its prompts as they were", ("run", "its name")
    )
    replay.add_argument("--prompts", action="store_true", help="show the prompts, made again from the trace")


def _add_forgetting(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    forget = _command(
        below, "forget", "erase everything of a user, or of a tenant, and prove that it is gone"
    )
    forget.add_argument(
        "--yes", action="store_true", help="do it; without this, only print the scope that would be erased"
    )
    forget.add_argument(
        "--reason", default="asked for on the command line", help="kept in the deletion event"
    )
    _command(below, "sweep", "delete what is past its time for good")


def _add_copies(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    out = _command(below, "export", "write the memory of a scope to a file", ("out", "the file, a new one"))
    add_force(out)
    back = _command(below, "import", "read what export wrote, perhaps edited by hand", ("source", "the file"))
    for one in (out, back):
        one.add_argument(
            "--format",
            choices=("jsonl", "markdown"),
            help="jsonl: everything within the scope, without loss; markdown: what is in force of exactly the "
            "scope, for a person to edit (default: by the name, .md or .jsonl)",
        )
    back.add_argument(
        "--from",
        dest="origin",
        choices=("mem0", "letta", "zep", "langgraph", "chatgpt", "claude"),
        help="a dump of this memory, whose statements are proposed to the gate",
    )
    back.add_argument("--as-notes", action="store_true", help="with --from: write notes, which pass no gate")
    back.add_argument("--by", default="command line", help="who edited the Markdown")
    back.add_argument("--dry-run", action="store_true", help="only show what edits or --from would do")


def _add_changes(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    changes = _command(below, "changes", "show what changed, oldest first")
    changes.add_argument(
        "--since", type=int, default=0, metavar="CURSOR", help="only what came after this one"
    )
    changes.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="how many at most (default: 100)"
    )
    changes.add_argument(
        "--within", action="store_true", help="of everything within the scope: users and agents"
    )


def _add_care(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    confirm = _command(
        below, "confirm", "bring a provisional fact or policy of the tenant into force", ("id", "of it")
    )
    revoke = _command(below, "revoke", "take a record out of force; it stays in histories", ("id", "of it"))
    hold = _command(below, "hold", "keep everything of a scope from being forgotten, deleted or changed")
    release = _command(below, "release", "release a hold on exactly this scope")
    _command(below, "holds", "show the holds on the scopes of a tenant")
    for one in (revoke, hold):
        one.add_argument("--reason", required=True, help="kept with it, and shown")
    hold.add_argument("--name", help="of the hold, by which it is released; else the reason is its name")
    release.add_argument("--name", help="of the hold, if there are several on the scope")
    for one in (confirm, revoke, hold, release):
        one.add_argument("--by", default="command line", help="who decided it")

"""The arguments of the commands on one file: add, list, get, rm; and of doctor and completion."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_filter, add_scope, command_of, positive

_ADD = """\
INDEX is created if missing. FILE is a folder, a zip archive, or a file of one of these kinds:

  .jsonl .ndjson .json      a text, and optionally id, tenant, user, agent, metadata, created_at, vector; conversations
                            of ChatGPT and Claude; messages of Slack
  .csv .tsv                 a column text, or the column of --text; all other columns become metadata
  .parquet .arrow .feather  the same (extra "readers")
  .md .txt .html            one memory per passage; of a chat exported by WhatsApp one memory per message
  .mbox .eml                one memory per passage
  .pdf .docx                one memory per passage (extra "readers")

Skipped items are reported with the reason. When a file is added again, unchanged memories are neither embedded nor
written, and memories that it does not contain any more are deleted. Each memory has its file's name in its metadata
(file), relative to the folder of INDEX, or to the current folder if INDEX is the address of a database."""


def add_record_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands that write and read the memories of one file."""
    add = command_of(commands, "add", "add files to an index in a file; unchanged ones cost nothing", _ADD)
    add.add_argument("index", metavar="INDEX")
    add.add_argument("files", metavar="FILE", nargs="+", help="- for JSON Lines on standard input")
    add.add_argument(
        "--prune",
        action="store_true",
        help="delete the memories of missing files: files below the given folders, or given themselves",
    )
    add.add_argument("--text", metavar="COLUMN", help="the column or field that holds the text")
    add.add_argument("--id", metavar="COLUMN", help="the column or field that holds the id")
    add.add_argument(
        "--number",
        action="store_true",
        help="use the file's name and the position as ids, even if the file has ids",
    )
    add.add_argument("--time", metavar="COLUMN", help="the column or field that holds the time")
    _add_collection(add)
    add_scope(add)
    add_common(add, k=None)

    listing = command_of(commands, "list", "list the memories of an index in a file, newest first", "")
    listing.add_argument("index", metavar="INDEX")
    listing.add_argument(
        "--limit", type=positive, default=20, metavar="N", help="memories per page (default: 20)"
    )
    listing.add_argument("--cursor", metavar="CURSOR", help="start of the page, printed by the previous page")
    listing.add_argument(
        "--order-by", metavar="FIELD", help="created_at, expires_at or a key of the metadata"
    )
    listing.add_argument("--ascending", action="store_true", help="oldest, or smallest, first")
    listing.add_argument(
        "--exact", action="store_true", help="only memories of this exact scope, not those shared with it"
    )
    add_filter(listing)
    _add_on_file(listing)

    get = command_of(commands, "get", "show memories of an index in a file in full", "")
    get.add_argument("index", metavar="INDEX")
    get.add_argument("ids", metavar="ID", nargs="+")
    _add_on_file(get)

    rm = command_of(
        commands, "rm", "delete memories of an index in a file", "Only memories of exactly the given scope."
    )
    rm.add_argument("index", metavar="INDEX")
    rm.add_argument("ids", metavar="ID", nargs="*")
    rm.add_argument(
        "--file", metavar="NAME", help="all memories that `add` read from this file, as named by `list`"
    )
    add_filter(rm)
    rm.add_argument(
        "--yes", action="store_true", help="with --file or --filter: delete; without it only count"
    )
    rm.add_argument("--reason", default="scrubjay rm", help="stored in the deletion event")
    _add_on_file(rm)


def add_tools(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `doctor` and `completion`."""
    doctor = command_of(
        commands,
        "doctor",
        "report the environment, and whether an index is sound",
        "Exit code 1 if there is a problem; warnings do not change it.",
    )
    doctor.add_argument("index", metavar="INDEX", nargs="?", help="a file, or postgresql://...")
    doctor.add_argument(
        "--quick", action="store_true", help="skip the comparison of all rows, images and rankings"
    )
    _add_collection(doctor)
    _add_output(doctor)
    completion = command_of(
        commands,
        "completion",
        "print a script that completes commands and options",
        'bash:  eval "$(scrubjay completion bash)"  in ~/.bashrc\n'
        'zsh:   eval "$(scrubjay completion zsh)"   in ~/.zshrc, after compinit\n'
        "fish:  scrubjay completion fish > ~/.config/fish/completions/scrubjay.fish",
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _add_on_file(parser: argparse.ArgumentParser) -> None:
    _add_collection(parser)
    add_scope(parser)
    _add_output(parser)


def _add_collection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--collection", metavar="NAME", help="collection of the index (default: the unnamed one)"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--no-progress", action="store_true", help="no progress bar (never shown without a terminal)"
    )

"""Imports from other programs on the command line: tables, chats, mail, papers, archives; and what is skipped."""

from __future__ import annotations

import io
import json
import mailbox
import zipfile
from datetime import datetime, timezone
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from scrubjay import MissingExtraError, Scope
from scrubjay.cli.readers import InputError, Reading, read_paths
from scrubjay.documents.turns import as_turn

LOCAL = Scope("local", user="me")


def read(path: Path, content: Any = None, **columns: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the records of a file, and the messages about it without the folder."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    reading = Reading(LOCAL, columns)
    records = list(read_paths([str(path)], reading))
    return records, [
        line.replace(f"{path.parent.as_posix()}/", "")
        for line in [*reading.skips.lines(), *reading.skips.note_lines()]
    ]


# -------------------------------------------------------------------- tables


def test_a_csv_file_has_a_record_a_row(tmp_path: Path) -> None:
    rows = 'ID;Text;price;zip;user\n1;"oak; solid";12;01234;ann\n;birch;7.5;99;\n3;;1;2;\n4;ash\n'
    records, said = read(tmp_path / "x.csv", rows)
    assert [(one["id"], one["text"]) for one in records] == [
        ("1", "oak; solid"),
        (f"{tmp_path.as_posix()}/x.csv:2", "birch"),
    ]
    assert [one["metadata"] for one in records] == [
        {"price": 12, "zip": "01234"},  # a column with a cell that is not a number is text
        {"price": 7.5, "zip": "99"},
    ]
    assert [one["scope"] for one in records] == [Scope("local", user="ann"), LOCAL]
    assert said == [
        "x.csv: a row without a text: row 3 (3)",
        "x.csv: a row of another number of cells than the 5 of the head: row 4",
    ]


def test_columns_are_named_where_they_have_other_names(tmp_path: Path) -> None:
    rows = "nr,question,asked,text\n7,who signs?,2026-01-02,ignored\n"
    records, _ = read(tmp_path / "x.csv", rows, text="question", id="nr", created_at="asked")
    assert [(one["id"], one["text"], one["created_at"]) for one in records] == [
        ("7", "who signs?", "2026-01-02")
    ]
    assert records[0]["metadata"] == {"text_": "ignored"}
    with pytest.raises(
        InputError, match=r"x\.csv: expected a column text, .*, got nr, question; name it with --text"
    ):
        read(tmp_path / "x.csv", "nr,question\n1,a\n")
    with pytest.raises(InputError, match="expected a field 'asked', got 'text'"):
        read(tmp_path / "x.jsonl", {"text": "a"}, created_at="asked")
    records, _ = read(tmp_path / "x.csv", "id,text\n7,a\n", id="")
    assert records[0]["id"].endswith("x.csv:1")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_arrow_files(tmp_path: Path, suffix: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.table(
        {
            "Text": ["oak", "", "ash"],
            "stars": [5, 4, None],
            "created_at": pyarrow.array([datetime(2026, 1, 2, tzinfo=timezone.utc)] * 3),
            "vector": [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
            "embedding": [[1.0], [1.0], None],
        }
    )
    path = tmp_path / f"x{suffix}"
    if suffix == ".parquet":
        parquet.write_table(table, path)
    elif suffix == ".feather":
        feather.write_feather(table, path)
    else:
        with pyarrow.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    records, said = read(path)
    assert [(one["text"], one["metadata"], one["vector"]) for one in records] == [
        ("oak", {"stars": 5}, [1.0, 0.0]),
        ("ash", {}, [0.5, 0.5]),
    ]
    assert records[0]["created_at"] == datetime(2026, 1, 2, tzinfo=timezone.utc)
    assert any("a row without a text" in line for line in said)
    assert any("embedding: ignored" in line for line in said)
    with pytest.raises(InputError, match="expected " + suffix[1:]):
        read(path, b"not a table at all, " * 20)


# -------------------------------------------------------------------- chats


def slack(text: str, ts: str = "1710000000.000100", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": ts, **more}


def test_an_export_of_slack(tmp_path: Path) -> None:
    export = tmp_path / "export"
    (export / "general").mkdir(parents=True)
    users = [{"id": "U1", "name": "ann", "real_name": "Ann Lee"}, {"id": "U2", "name": "bo"}]
    (export / "users.json").write_text(json.dumps(users))
    (export / "channels.json").write_text(json.dumps([{"id": "C1", "name": "general"}]))
    day = [
        slack("Deploy with <@U2> at <https://x.org|the site> &amp; <#C1|general>"),
        slack("a reply", "1710000002.000100", thread_ts="1710000000.000100"),
        slack("Ann has joined", "1710000003.000100", subtype="channel_join"),
        slack("", "1710000004.000100", subtype="file_share"),
        slack("by a bot", "1710000005.000100", user=None, username="ci", subtype="bot_message"),
    ]
    (export / "general" / "2024-03-09.json").write_text(json.dumps(day))
    records, said = read(export)
    assert [(one["id"], one["text"]) for one in records] == [
        ("slack:general:1710000000.000100", "Deploy with @bo at the site (https://x.org) & #general"),
        ("slack:general:1710000002.000100", "a reply"),
        ("slack:general:1710000005.000100", "by a bot"),
    ]
    thread, day = "slack:general:1710000000.000100", "slack:general::2024-03-09"
    assert [one["metadata"] for one in records] == [
        {"channel": "general", "author": "Ann Lee", **as_turn(day, 1, "Ann Lee")},
        {
            "channel": "general",
            "author": "Ann Lee",
            "thread": thread,
            **as_turn(f"{thread}:2024-03-09", 1, "Ann Lee"),
        },
        {"channel": "general", "author": "ci", **as_turn(day, 2, "ci")},
    ]
    assert {one["scope"] for one in records} == {LOCAL}  # its `user` is not a scope
    assert records[0]["created_at"] == 1710000000.0001
    assert [line.split(": ", 1)[1] for line in said] == [
        "Slack's list of channels, which holds no messages",
        "an event without an author: channel_join",
        "a message without text",
        "Slack's list of users, which holds no messages",
    ]
    zipped = tmp_path / "export.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        for file in sorted(export.rglob("*.json")):
            archive.write(file, file.relative_to(export).as_posix())
    assert [one["text"] for one in read(zipped)[0]] == [one["text"] for one in records]


@pytest.mark.parametrize(
    ("lines", "times"),
    [
        (("[31/12/2025, 21:04:05] {}", "[1/2/2026, 9:00:00] {}"), ("2025-12-31T21:04:05", "2026-02-01T09:00:00")),
        (("12/31/25, 9:04\u202fPM - {}", "1/2/26, 12:00\u202fAM - {}"), ("2025-12-31T21:04:00", "2026-01-02T00:00:00")),
        (("31.12.25, 21:04 - {}", "01.02.26, 09:00 - {}"), ("2025-12-31T21:04:00", "2026-02-01T09:00:00")),
        (("\u200e[2025-12-31, 21:04:05] {}", "[2026-02-01, 9:00] {}"), ("2025-12-31T21:04:05", "2026-02-01T09:00:00")),
        (("1/2/26, 9:04 PM - {}", "1/3/26, 9:04 PM - {}"), ("2026-01-02T21:04:00", "2026-01-03T21:04:00")),
    ],
)  # fmt: skip
def test_a_chat_of_whatsapp(tmp_path: Path, lines: tuple[str, str], times: tuple[str, str]) -> None:
    first, second = lines
    content = "\n".join(
        [
            first.format("Messages and calls are end-to-end encrypted."),
            first.format("Ann Lee: Two lines:\nthe second"),
            second.format("Bo: <Media omitted>"),
            second.format("Bo: See you at 10:30"),
        ]
    )
    name = "WhatsApp Chat with Ann.txt"
    records, said = read(tmp_path / name, content)
    run = (tmp_path / name).as_posix()
    assert [(one["id"].rpartition("#")[2], one["text"], one["metadata"]) for one in records] == [
        ("1", "Two lines:\nthe second", {"author": "Ann Lee", "chat": "Ann", **as_turn(run, 1, "Ann Lee")}),
        ("3", "See you at 10:30", {"author": "Bo", "chat": "Ann", **as_turn(run, 3, "Bo")}),
    ]
    assert [one["created_at"].isoformat()[:19] for one in records] == list(times)
    assert said == [f"{name}: a system message of WhatsApp", f"{name}: media without text"]


def test_a_text_with_times_is_no_chat(tmp_path: Path) -> None:
    text = "Notes of the week.\n\n1/2/26, 9:04 PM - Ann: called\n"
    assert [one["text"] for one in read(tmp_path / "x.txt", text)[0]] == [text.strip()]


# -------------------------------------------------------------------- mail and papers


def mail(text: str, **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def test_mail(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "in.mbox")
    box.add(
        mail(
            "The prefix is sk-stg-0041.\n",
            Subject="Keys für Staging",
            From="ann@x.org",
            To="bo@x.org",
            Message_ID="<1@x.org>",
            Date="Wed, 04 Mar 2026 10:00:00 +0100",
        )
    )
    html = mail("", Subject="", From="ann@x.org", Date="no date")
    html.set_content("<html><head><style>p {}</style></head><p>By <b>train</b>.</p></html>", subtype="html")
    html.add_attachment(b"x", maintype="image", subtype="png")
    box.add(html)
    box.add(mail("", Subject="empty"))
    box.flush()
    records, said = read(tmp_path / "in.mbox")
    assert [(one["id"].rpartition("/")[2], one["text"]) for one in records] == [
        ("1@x.org", "Keys für Staging\nThe prefix is sk-stg-0041."),
        ("in.mbox:2", "By train."),
    ]
    assert records[0]["metadata"] == {"from": "ann@x.org", "to": "bo@x.org", "subject": "Keys für Staging"}
    assert str(records[0]["created_at"]) == "2026-03-04 10:00:00+01:00" and records[1]["created_at"] is None
    assert said == ["in.mbox: an attachment", "in.mbox: a message without text"]
    assert read(tmp_path / "one.eml", bytes(mail("Hello.", Subject="Hi")))[0][0]["text"] == "Hi\nHello."
    with pytest.raises(InputError, match="expected an mbox"):
        read(tmp_path / "no.mbox", "just a text\n")


def a_pdf(*pages: str) -> bytes:
    """A handmade PDF with a line of text on each page."""
    n = len(pages)
    kids = " ".join(f"{3 + 2 * i} 0 R" for i in range(n))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {n} >>"]
    for i, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * i} 0 R /Resources "
            "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return (out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + table + end).encode()


def test_a_pdf_file(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    records, said = read(tmp_path / "x.pdf", a_pdf("Invoices go out on Mondays", "", "Refunds take a week"))
    assert [(one["id"].rpartition("/")[2], one["text"], one["metadata"]["page"]) for one in records] == [
        ("x.pdf#p1.1", "Invoices go out on Mondays", 1),
        ("x.pdf#p3.1", "Refunds take a week", 3),
    ]
    assert said == ["x.pdf: a page without text (a scan, perhaps)"]
    with pytest.raises(InputError, match=r"x\.pdf: expected a PDF"):
        read(tmp_path / "x.pdf", b"not a PDF")


def test_a_docx_file(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Travel", 1)
    document.add_paragraph("By train.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Riga", "9 h"
    document.save(tmp_path / "x.docx")
    records, _ = read(tmp_path / "x.docx")
    assert [(one["text"], one["metadata"]["heading"]) for one in records] == [
        ("Travel\nBy train.\n\nRiga | 9 h", "Travel")
    ]
    with pytest.raises(InputError, match=r"x\.docx: expected a docx"):
        read(tmp_path / "x.docx", b"not a docx")


@pytest.mark.parametrize(
    ("name", "package"), [("x.pdf", "pypdf"), ("x.docx", "docx"), ("x.parquet", "pyarrow")]
)
def test_without_the_extra_it_is_named(
    tmp_path: Path, name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtraError, match=r'pip install "scrubjay\[readers\]"'):
        read(tmp_path / name, b"x")
    (tmp_path / "a.md").write_text("oak")
    records, said = read(tmp_path)  # found in a folder: reported, and skipped
    assert [one["text"] for one in records] == ["oak"]
    assert (
        len(said) == 1 and said[0].startswith(f"{tmp_path.name}/{name}: ") and "scrubjay[readers]" in said[0]
    )


# -------------------------------------------------------------------- folders, archives, bytes


def test_a_folder_gives_what_can_be_read_and_says_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "a.md").write_text("# Trips\n\nBy train.\n")
    (folder / "b.csv").write_text("text\noak\n")
    (folder / "c.html").write_text("<h1>Food</h1><p>Fish &amp; chips<br>daily</p>")
    (folder / "d.png").write_bytes(b"\x89PNG")
    (folder / "e.jsonl").write_text('{"text": "one"}\nbroken\n')
    (folder / "noise.txt").write_bytes(bytes(range(256)) * 8)
    (folder / ".hidden.md").write_text("hidden")
    (folder / "m.scrubjay").write_bytes(b"SQLite format 3\0")
    records, said = read(folder)
    assert [one["text"] for one in records] == ["Trips\nBy train.", "oak", "Food\nFish & chips\ndaily"]
    assert said == [
        "all/d.png: not a kind of file that is read (.png)",
        said[1],
        "all/noise.txt: expected text, got other bytes",
    ]
    assert said[1].startswith("all/e.jsonl: ") and ":2: expected JSON" in said[1]


def test_random_bytes_are_refused_whatever_they_are_called(tmp_path: Path) -> None:
    noise = bytes((7 * i * i + 3 * i) % 256 for i in range(4096))
    for name in ("x.txt", "x.md", "x.csv", "x.jsonl"):
        with pytest.raises(InputError, match=f"{name}: expected text, got other bytes"):
            read(tmp_path / name, noise)
    records, _ = read(tmp_path / "wide.txt", "\ufeffgrüße".encode("utf-16-le"))
    assert records[0]["text"] == "grüße"
    _, said = read(tmp_path / "latin.txt", b"caf\xe9 au lait")
    assert said == ["latin.txt: a byte that is not UTF-8, read as U+FFFD"]


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.zip: "):
        read(tmp_path / "x.zip", b"PK no zip")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.md", "oak " * 100)
        archive.writestr("__MACOSX/a.md", "left out")
    damaged = data.getvalue().replace(b"oak oak", b"elm oak", 1)
    with pytest.raises(InputError, match="found none"):
        read(tmp_path / "x.zip", damaged)

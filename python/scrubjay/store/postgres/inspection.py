"""The check of the rows in a database: counts, names, the hash of every row and the size of its vector."""

from __future__ import annotations

from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.digests import table_problems
from scrubjay.store.postgres.document_walk import DocumentWalk
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import plain_table
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.vectors import fits, n_bytes

_OF = "{0}.home = s.home AND {0}.collection = s.collection AND {0}.scope = s.key"

# Description of a contradiction -> the query that counts it, for one collection.
_CONTRADICTIONS = {
    "documents of a scope that does not exist": (
        "SELECT count(*) FROM sj_document d LEFT JOIN sj_scope s ON "
        + _OF.format("d")
        + " WHERE d.collection = %s "
        "AND s.key IS NULL"
    ),
    "images without a scope": (
        "SELECT count(*) FROM sj_image i LEFT JOIN sj_scope s ON "
        + _OF.format("i")
        + " WHERE i.collection = %s "
        "AND s.key IS NULL"
    ),
    "scopes whose count of documents is wrong": (
        "SELECT count(*) FROM sj_scope s WHERE s.collection = %s AND documents <> coalesce((SELECT k.documents FROM "
        "sj_cold k WHERE "
        + _OF.format("k")
        + " AND k.thawed_at IS NULL), (SELECT count(*) FROM sj_document d WHERE "
        + _OF.format("d")
        + "))"
    ),
    "scopes whose count of vectors is wrong": (
        "SELECT count(*) FROM sj_scope s WHERE s.collection = %s AND cold IS NULL AND vectors <> "
        "(SELECT count(vector) FROM sj_document d WHERE " + _OF.format("d") + ")"
    ),
    "documents newer than their scope": (
        "SELECT count(*) FROM sj_document d JOIN sj_scope s ON "
        + _OF.format("d")
        + " WHERE d.collection = %s "
        "AND d.seq > s.version"
    ),
    "notes of feedback on no document": (
        "SELECT count(*) FROM sj_feedback s WHERE s.collection = %s AND NOT EXISTS("
        "SELECT 1 FROM sj_document d WHERE d.home = s.home AND d.collection = s.collection AND d.scope = s.scope "
        "AND d.id = s.id) AND NOT EXISTS(SELECT 1 FROM sj_cold k WHERE k.home = s.home AND k.collection = s.collection "
        "AND k.scope = s.scope AND k.thawed_at IS NULL)"
    ),
    "scopes whose frozen state is contradictory": (
        "SELECT count(*) FROM sj_scope s FULL JOIN (SELECT * FROM sj_cold WHERE thawed_at IS NULL) k ON "
        + _OF.format("k")
        + " WHERE coalesce(s.collection, k.collection) = %s AND k.object IS DISTINCT FROM s.cold"
    ),
    "frozen scopes with rows in the table": (
        "SELECT count(*) FROM sj_scope s WHERE s.collection = %s AND s.cold IS NOT NULL AND EXISTS("
        "SELECT 1 FROM sj_document d WHERE " + _OF.format("d") + ")"
    ),
    "images newer than their scope": (
        "SELECT count(*) FROM sj_image i JOIN sj_scope s ON " + _OF.format("i") + " WHERE i.collection = %s "
        "AND i.version > s.version"
    ),
    "scopes newer than their home": (
        "SELECT count(*) FROM sj_scope s LEFT JOIN sj_home h ON h.home = s.home WHERE s.collection = %s "
        "AND s.version > coalesce(h.last, -1)"
    ),
}


def inspect_rows(collection: Collection, walk: DocumentWalk, report: CheckReport) -> None:
    """Check the rows of a collection; call in a snapshot."""
    for what, question in _CONTRADICTIONS.items():
        (n,) = collection.ask(question, (collection.number,), home=EVERY_HOME, doing="checking")[0]
        if n:
            report.add(f"{n} {what}")
    for tenant, user, agent, home in collection.ask(
        "SELECT tenant, usr, agent, home FROM sj_scope WHERE collection = %s AND home <> ''",
        (collection.number,),
        home=EVERY_HOME,
        doing="checking",
    ):
        try:
            if (right := collection.homes.of(scope_of(tenant, user, agent))) != home:
                report.add(
                    f"scope ({tenant!r}, {user!r}, {agent!r}): expected the home {right!r}, got {home!r}"
                )
        except CorruptIndexError as error:
            report.add(error.what)
    _check_keys(collection, report)
    identity = collection.identity()
    expected = None if identity.dim is None else n_bytes(identity.dim, identity.dtype)
    for page in walk.walk(now=0):
        for entry in page:
            report.documents += 1
            try:
                found = entry.load()
            except CorruptIndexError as error:
                report.add(f"document {entry.id!r}: {error.what}")
                continue
            except EncryptionError:
                # its key is not available, or it is plaintext and must not be, which is reported for its tenant
                continue
            if found is None:
                continue
            row, scope = found
            if row.damage is not None:
                report.add(f"document {entry.id!r} of {scope!r}: {row.damage}")
            dim, size = identity.dim, len(row.vector or b"")
            if row.vector is not None and (dim is None or not fits(size, dim, identity.dtype)):
                report.add(
                    f"document {entry.id!r} of {scope!r}: its vector has {size} bytes, expected {expected}"
                )


def _check_keys(collection: Collection, report: CheckReport) -> None:
    """Compare the feedback notes with their digests, and report plaintext of tenants with keys."""
    cipher = collection.cipher
    if cipher.ring is None:
        return
    homes = collection.ask("SELECT home FROM sj_home WHERE home <> '' ORDER BY home", home=EVERY_HOME)
    for (home,) in homes:
        tenant = collection.homes.tenant(home)
        try:
            if not cipher.readable(tenant):
                continue
            plain = plain_table(collection.ask, home) if cipher.refuses_plain(tenant) else None
            if plain is not None:
                report.add(str(cipher.plain(f"a row of table {plain}", tenant)))
            box = cipher.box(tenant, None)
            if box is not None:
                for problem in table_problems(collection.ask, box, home):
                    report.add(problem)
        except CorruptIndexError as error:
            report.add(str(error))
        except EncryptionError:
            continue

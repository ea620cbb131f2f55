"""Files of earlier versions can still be read, including images. (tests/data/golden/make.py wrote them.)"""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from scrubjay import Engine, Index, Query, Scope
from scrubjay.backend import Backend
from tests.data.keys import provider

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
JANE = Scope("acme", user="jane")


@pytest.mark.parametrize("name", sorted(file.name for file in GOLDEN.glob("format-*.scrubjay")))
def test_a_golden_file_is_read(name: str, tmp_path: Path) -> None:
    shutil.copy(GOLDEN / name, tmp_path / name)
    keys = provider if "encrypted" in name else None
    with Index.open(tmp_path / name, keys=keys) as index:
        assert index.admin.encrypted_tenants() == (["acme"] if keys else [])
        assert len(index) == 11
        assert index.count(JANE) == 11
        assert index.find("m3", within=Scope("acme")) == []
        hits = index.search("oak", vector=[4.0, 3.0, 2.0, 1.0], scope=JANE, explain=True)
        assert hits[0].id == "m1"
        assert hits[0].cosine == pytest.approx(1.0, abs=1e-6)
        assert index.search("skstg0007", scope=JANE, query=Query(mode="lexical"))[0].id == "m7"
        record = index.get("m7", scope=JANE)
        assert record is not None
        assert record.text == "memory 7: the jay of sk-stg-0007, naïve 鸟"
        assert record.metadata == {"n": 7, "nested": {"list": [1, 2.5, None]}}
        assert record.created_at == datetime(1970, 1, 8, tzinfo=timezone.utc)
        assert record.expires_at == datetime(2999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
        np.testing.assert_allclose(np.asarray(record.vector), [1.0, 7.0, -0.5, 1e-3], rtol=1e-3)
        without = index.get("m5", scope=JANE)
        assert without is not None
        assert without.vector is None
        assert [(event.reason, event.scope, event.documents) for event in index.admin.events()] == [
            ("delete", JANE, 1)
        ]
        report = index.admin.check()
        assert report.problems == []
        assert report.images == 2
        store = Backend.of(index).engine.store  # type: ignore[union-attr]
        state = store.scope_state(JANE)
        assert state is not None
        image = store.image(state.key)
        assert image is not None
        if Backend.of(index).engine.analyzer == "english-1":  # its images are still loaded, not only rebuilt
            assert Engine(4).load_partition(JANE, image[1]) == 6
        if "side" in index.admin.collections():  # of format 4 and later
            side = index.collection("side")
            assert [side.get("m1", scope=s) is None for s in (Scope("acme"), JANE, Scope("globex"))] == [
                True,
                False,
                False,
            ]
            assert [hit.text for hit in side.search("jay", scope=JANE)] == [f"the jay of {JANE!r}"]
            assert [(note.query, note.document_scope) for note in side.admin.feedbacks()] == [
                ("whose?", JANE)
            ]
            assert side.admin.check().problems == []
        for scope in (JANE, Scope("acme"), Scope("globex")):
            index.upsert("m7", f"oak of {scope!r}", scope=scope)
            assert index.get("m7", scope=scope).text == f"oak of {scope!r}"  # type: ignore[union-attr]
        index.admin.compact()
        assert index.admin.check().problems == []


def test_there_is_a_golden_file_of_every_format() -> None:
    from scrubjay.store.sqlite.schema import FORMAT

    assert f"format-{FORMAT}-encrypted.scrubjay" in {file.name for file in GOLDEN.iterdir()}
    assert {f"format-{n}.scrubjay" for n in range(1, FORMAT + 1)} <= {file.name for file in GOLDEN.iterdir()}

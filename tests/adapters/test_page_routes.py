"""The page's own routes, their access rights, and the files of the page; without a browser."""

from __future__ import annotations

import http.client
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
testing = pytest.importorskip("fastapi.testclient")

from scrubjay import Index, Memory, Scope, embedders  # noqa: E402
from scrubjay.adapters.service import Example, Grant, Limits, Tokens, add_token, create_app, page_models  # noqa: E402
from scrubjay.adapters.service.page_files import PAGE_FILES  # noqa: E402
from scrubjay.adapters.service.page_models import MapIn  # noqa: E402
from scrubjay.adapters.service.vector_map import Projection, draw  # noqa: E402
from tests.adapters.serving import Serving  # noqa: E402

JANE, JOE, CODER = Scope("acme", user="jane"), Scope("acme", user="joe"), Scope("acme", agent="coder")
BOTH = Scope("acme", user="jane", agent="coder")


def client_of(app: Any, token: str | None = None) -> Any:
    client = testing.TestClient(app, base_url="http://127.0.0.1")
    if token is not None:
        client.headers["authorization"] = f"Bearer {token}"
    return client


@pytest.fixture
def index() -> Index:
    index = Index(embedders.default())
    for scope, n in ((Scope("acme"), 2), (JANE, 3), (JOE, 1), (CODER, 4), (BOTH, 5), (Scope("globex"), 1)):
        for number in range(n):
            metadata = {"category": "keys"} if number == 0 else {}
            index.upsert(f"m{number}", f"Memory {number} of {scope!r}", scope=scope, metadata=metadata)
    return index


def test_scopes_are_listed_with_own_and_visible_counts(index: Index) -> None:
    client = client_of(create_app(index))
    given = client.get("/v1/scopes").json()
    page_models.Scopes.model_validate(given, strict=True)
    counts = {
        (scope["tenant"], scope["user"], scope["agent"]): (scope["own"], scope["visible"])
        for scope in given["scopes"]
    }
    assert counts == {
        ("acme", None, None): (2, 2),
        ("acme", None, "coder"): (4, 6),
        ("acme", "jane", None): (3, 5),
        ("acme", "jane", "coder"): (5, 14),
        ("acme", "joe", None): (1, 3),
        ("globex", None, None): (1, 1),
    }
    assert not given["more"]
    # `visible` is the number that a search sees, `own` the number that the scope itself lists.
    for (tenant, user, agent), (own, visible) in counts.items():
        scope = Scope(tenant, user, agent)
        assert (len(index.list(scope, exact=True)), index.count(scope)) == (own, visible)
    some = client.get("/v1/scopes", params={"limit": 2}).json()
    assert some["scopes"] == given["scopes"][:2] and some["more"]
    found = client.get("/v1/scopes", params={"contains": "JA"}).json()["scopes"]
    assert [(scope["user"], scope["agent"]) for scope in found] == [("jane", None), ("jane", "coder")]
    within = client.get("/v1/scopes", params={"tenant": "globex"}).json()["scopes"]
    assert [scope["tenant"] for scope in within] == ["globex"]
    assert client.get("/v1/scopes", params={"user": "jane"}).status_code == 422
    assert client.get("/v1/scopes", params={"limit": 0}).status_code == 422


def test_scopes_with_typed_memory_only_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        index.upsert("m", "Joe skates", scope=JOE)
        client = client_of(create_app(index))
        before = client.get("/v1/scopes").json()["scopes"]
        assert [(one["user"], one["memory"]) for one in before] == [("joe", False)]
        assert index.admin.collections() == []  # reading created no tables
        with Memory(index) as memory:
            for scope in (JANE, JOE):
                memory.propose("Somebody skates", scope=scope, source="r")
        given = client.get("/v1/scopes").json()
        page_models.Scopes.model_validate(given, strict=True)
        told = [(one["user"], one["own"], one["visible"], one["memory"]) for one in given["scopes"]]
        assert told == [("jane", 0, 0, True), ("joe", 1, 1, True)]
        hers = client.get("/v1/scopes", params={"tenant": "acme", "user": "jane"}).json()["scopes"]
        assert [one["user"] for one in hers] == ["jane"]


def test_a_token_lists_its_own_scopes_only(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    tenant = add_token(path, Grant("app", "acme", can=("read",)))
    jane = add_token(path, Grant("jane", "acme", "jane", can=("read",)))
    writer = add_token(path, Grant("writer", "acme", can=("write",)))
    app = create_app(index, tokens=Tokens(path))
    tenants = client_of(app, tenant).get("/v1/scopes").json()["scopes"]
    assert len(tenants) == 5 and {scope["tenant"] for scope in tenants} == {"acme"}
    own = client_of(app, jane).get("/v1/scopes").json()["scopes"]
    assert {scope["user"] for scope in own} == {"jane"} and len(own) == 2
    for asked in ({"tenant": "globex"}, {"user": "joe"}):
        assert client_of(app, jane).get("/v1/scopes", params=asked).status_code == 403, asked
    assert client_of(app, writer).get("/v1/scopes").status_code == 403
    assert client_of(app, writer).post("/v1/map", json={}).status_code == 403
    for path_, method in (("/v1/scopes", "GET"), ("/v1/about", "GET"), ("/v1/map", "POST")):
        assert client_of(app).request(method, path_, json={}).status_code == 401, path_


def test_about_names_the_served_index(index: Index) -> None:
    questions = [Example("One", "which key?", JANE, "that"), Example("Two", "and joe?", JOE)]
    app = create_app(index, limits=Limits(max_k=7), examples=questions)
    about = client_of(app).get("/v1/about").json()
    page_models.About.model_validate(about, strict=True)
    assert about["max_k"] == 7 and about["embedder"] == index.embedder.name and not about["memory"]  # type: ignore[union-attr]
    assert [one["text"] for one in about["examples"]] == ["which key?", "and joe?"]
    bound = create_app(index, grant=Grant("jane", "acme", "jane"), examples=questions)
    examples = client_of(bound).get("/v1/about").json()["examples"]
    assert examples and {(one["scope"]["tenant"], one["scope"]["user"]) for one in examples} == {
        ("acme", "jane")
    }
    assert client_of(create_app(Index())).get("/v1/about").json()["embedder"] is None


def test_a_map_has_what_a_search_looks_at(index: Index) -> None:
    app = create_app(index, grant=Grant("jane", "acme", "jane"))
    client = client_of(app)
    drawn = client.post("/v1/map", json={"text": "memory 1 of jane"}).json()
    page_models.Map.model_validate(drawn, strict=True)
    seen = {(point["id"], point["scope"]["user"], point["scope"]["agent"]) for point in drawn["points"]}
    assert seen == {(f"m{n}", "jane", None) for n in range(3)} | {(f"m{n}", None, None) for n in range(2)}
    assert drawn["visible"] == 5 and drawn["without_vector"] == 0 and len(drawn["shares"]) == 2
    places = np.array([[point["x"], point["y"]] for point in drawn["points"]])
    assert np.abs(places).max(axis=0) == pytest.approx([1.0, 1.0]) and drawn["query"] is not None
    assert [point["category"] for point in drawn["points"]].count("keys") == 2
    assert client.post("/v1/map", json={"text": "memory 1 of jane"}).json() == drawn  # deterministic
    few = client.post("/v1/map", json={"limit": 2}).json()
    assert len(few["points"]) == 2 and few["visible"] == 5 and few["query"] is None
    only = client.post("/v1/map", json={"filter": {"category": "keys"}}).json()
    assert len(only["points"]) == only["visible"] == 2
    for bad in ({"limit": 0}, {"limit": 100_000}, {"filter": {"$no": 1}}, {"scope": {"user": 7}}, {"x": 1}):
        assert client.post("/v1/map", json=bad).status_code == 422, bad
    assert client.post("/v1/map", json={"scope": {"user": "joe"}}).status_code == 403


def test_a_map_without_vectors_or_with_one_is_a_map() -> None:
    words = Index()
    words.upsert("m1", "Prefers trains.", scope=JANE)
    drawn = draw(words, JANE, MapIn(text="trains"))
    assert (drawn["points"], drawn["query"], drawn["visible"], drawn["without_vector"]) == ([], None, 1, 1)
    assert draw(Index(), JANE, MapIn()) == {
        "points": [], "query": None, "visible": 0, "without_vector": 0, "shares": [],
    }  # fmt: skip
    for vectors in ([[3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0], [-2.0]]):
        rows = np.array(vectors)
        places = Projection(rows).places(rows)
        assert places.shape == (len(rows), 2) and np.isfinite(places).all() and np.abs(places).max() <= 1


def test_a_projection_shows_most_of_the_spread_whatever_the_order() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, 16)) * np.array([9.0, 5.0] + [0.3] * 14)
    made = Projection(rows)
    assert sum(made.shares) > 0.9 and made.shares[0] >= made.shares[1]
    order = rng.permutation(len(rows))
    assert Projection(rows[order]).places(rows) == pytest.approx(made.places(rows), abs=1e-9)


def test_an_answer_on_an_open_connection_waits_for_no_acknowledgement(tmp_path: Path) -> None:
    """The least of many, because other work delays some. With Nagle's algorithm each takes a 40 ms delayed ACK."""
    with Serving(tmp_path / "memories.scrubjay", "--embedder", "none") as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port)
        times = []
        for _ in range(30):
            start = time.perf_counter()
            connection.request("GET", "/health/live")
            connection.getresponse().read()
            times.append(time.perf_counter() - start)
        connection.close()
    assert min(times[10:]) < 0.03


# ---------------------------------------------------------------------- files


def test_every_file_of_the_page_is_served_without_a_token(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, Grant("app", "acme"))
    client = client_of(create_app(Index(), tokens=Tokens(path)))
    folder = Path(page_models.__file__).parent / "page"
    on_disk = {f"/{file.relative_to(folder).as_posix()}" for file in folder.rglob("*") if file.is_file()}
    assert {"/" if path == "/index.html" else path for path in on_disk} == set(PAGE_FILES)
    for name, file in PAGE_FILES.items():
        answer = client.get(name)
        assert answer.status_code == 200 and answer.content == file.content, name
        assert answer.headers["content-type"].startswith(file.kind), name
        assert answer.headers["cache-control"] == "no-cache"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy and "script-src 'self'" in policy
    local = client_of(create_app(Index()))
    assert local.get("/views/").status_code == 404 and local.get("/views/../../app.py").status_code == 404


def test_the_page_is_whole_and_has_nothing_inline_and_nothing_from_elsewhere() -> None:
    texts = {name: file.content.decode() for name, file in PAGE_FILES.items()}
    page = texts["/"]
    for named in re.findall(r'(?:src|href)="([^"#]+)"', page):
        if named != "openapi.json":
            assert f"/{named}" in PAGE_FILES, named
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\bsrc=)", page)
    for name, text in texts.items():
        if name.endswith(".js"):
            base = Path(name).parent
            for imported in re.findall(r'\bfrom "([^"]+)"', text):
                found = (Path("/page") / base.relative_to("/") / imported).resolve()
                assert f"/{found.relative_to('/page').as_posix()}" in PAGE_FILES, (name, imported)
            # Only dom.js creates elements, and no text becomes markup.
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function", text
            ), name
            assert "createElement" not in text or name == "/dom.js", name
            assert not re.search(r"sessionStorage|document\.cookie|indexedDB", text), name
        assert not re.search(r"(?:url\(|@import|from\s)\s*[\"']?https?:", text), name


@pytest.mark.parametrize("kind", ["memory", "file", "typed"])
def test_scopes_come_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    from scrubjay.adapters.service import page_routes

    monkeypatch.setattr(page_routes, "_PART", 2)
    index = Index() if kind == "memory" else Index.open(tmp_path / "m.scrubjay")
    names = ["", "Zoë", "ann", "bob", "jan", "jane", "jo\u0301", "k", "émile", "日本", "😀"]
    scopes = [Scope(tenant, user=user or None) for tenant in ("acme", "Ä", "b") for user in names]
    scopes += [Scope("acme", agent="coder"), Scope("acme", user="ann", agent="coder")]
    with index:
        for n, scope in enumerate(scopes):
            if kind != "typed" or n % 3:
                index.upsert("m", "a note", scope=scope)
        if kind == "typed":
            with Memory(index) as memory:
                memory.propose_all(
                    [("a fact", scope, "r") for n, scope in enumerate(scopes) if n % 2 == 0 and scope.user]
                )
        client = client_of(create_app(index))
        for more in ({}, {"contains": "j"}, {"tenant": "acme"}):
            whole = client.get("/v1/scopes", params={"limit": 1000, **more}).json()
            assert not whole["more"] and whole["next_cursor"] is None and len(whole["scopes"]) > 3
            for limit in (1, 3, 7):
                found, cursor = [], None
                while not found or cursor is not None:
                    asked = (
                        {"limit": limit, **more}
                        if cursor is None
                        else {"limit": limit, "cursor": cursor, **more}
                    )
                    page = client.get("/v1/scopes", params=asked).json()
                    found += page["scopes"]
                    cursor = page["next_cursor"]
                    assert page["more"] is (cursor is not None)
                assert found == whole["scopes"]
        for bad in ("x", "[]", "[1, 2, 3]", '["acme", ""]', '["", "", ""]', "7"):
            assert client.get("/v1/scopes", params={"cursor": bad}).status_code == 422


def test_a_page_of_scopes_reads_no_more(tmp_path: Path) -> None:
    from scrubjay.backend import Backend

    with Index.open(tmp_path / "m.scrubjay") as index:
        index.upsert_many(
            {"id": "m", "text": "a", "scope": Scope("acme", user=f"u{n:04}")} for n in range(50)
        )
        backend = Backend.of(index)
        users = [one.user for one in backend.first_scopes(Scope("acme"), Scope("acme", user="u0009"), 3)]
        assert users == ["u0010", "u0011", "u0012"]
        assert backend.first_scopes(Scope("other"), None, 3) == []

"""The setting's embedder as an HTTP service, for stores in separate processes that need an embedding service."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memory_store_conformance.contract import Setting

__all__ = ["EmbeddingService"]


class EmbeddingService:
    """Answers `POST /v1/embeddings` as defined by OpenAI, on a local port, until it is closed.

    >>> from pathlib import Path
    >>> from urllib.request import Request, urlopen
    >>> service = EmbeddingService(Setting(Path(".")))
    >>> asked = Request(service.url, b'{"input": ["a note", "another"], "model": "any"}')
    >>> [len(row["embedding"]) for row in json.load(urlopen(asked))["data"]]
    [256, 256]
    >>> service.close()
    """

    def __init__(self, setting: Setting) -> None:
        embedder = setting.embedder

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))["input"]
                texts = [given] if isinstance(given, str) else given
                rows = [[float(x) for x in row] for row in embedder.embed_documents(texts)]
                data = [{"index": index, "embedding": row} for index, row in enumerate(rows)]
                answer = json.dumps({"object": "list", "data": data}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/embeddings"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop the service."""
        self._server.shutdown()
        self._server.server_close()

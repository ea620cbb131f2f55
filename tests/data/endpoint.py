"""A local embeddings endpoint with the API of OpenAI and Ollama; its vectors are those of the default embedder."""

from __future__ import annotations

import json
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import scrubjay

__all__ = ["new_endpoint"]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        vectors = scrubjay.embedders.default().embed_documents(texts)
        data = [{"index": n, "embedding": [float(x) for x in vector]} for n, vector in enumerate(vectors)]
        body = json.dumps({"data": data, "model": asked["model"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log."""


@lru_cache(maxsize=1)
def new_endpoint() -> str:
    """Return the base URL of the endpoint, which is started once and ends with the process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"

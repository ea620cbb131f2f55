"""A double of Hermes' memory manager, by the documented contract of its interface.

For tests without Hermes, and for calls that only its newest sources make, not its newest release: the author of a turn,
the status of a recall. If Hermes is installed, the same tests also run with its own manager.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["MANAGERS", "Manager", "manager_of"]


class Manager:
    """Manages one provider: blocking calls run in order on one background thread; records failures."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self._worker = ThreadPoolExecutor(1)

    def add_provider(self, provider: Any) -> None:
        assert provider.name and provider.is_available()
        for schema in provider.get_tool_schemas():
            assert (
                set(schema) == {"name", "description", "parameters"}
                and schema["parameters"]["type"] == "object"
            )
        self._provider = provider

    def initialize_all(self, session_id: str, **given: Any) -> None:
        self._provider.initialize(session_id, **given)

    def build_system_prompt(self) -> str:
        return str(self._provider.system_prompt_block())

    def prefetch_all(self, query: str, *, session_id: str = "") -> str:
        return str(self._safely(self._provider.prefetch, query, session_id=session_id) or "")

    def sync_all(self, user: str, assistant: str, *, session_id: str = "", **more: Any) -> None:
        accepted = inspect.signature(self._provider.sync_turn).parameters
        more = {name: value for name, value in more.items() if name in accepted}
        self._worker.submit(
            self._safely, self._provider.sync_turn, user, assistant, session_id=session_id, **more
        )

    def flush_pending(self, timeout: float | None = None) -> bool:
        self._worker.submit(lambda: None).result(timeout)
        return True

    def handle_tool_call(self, name: str, args: Mapping[str, Any]) -> str:
        answer = self._provider.handle_tool_call(name, args)
        json.loads(answer)
        return str(answer)

    def get_all_tool_schemas(self) -> list[dict[str, Any]]:
        return list(self._provider.get_tool_schemas())

    def on_session_switch(self, new_session_id: str, **given: Any) -> None:
        self._safely(self._provider.on_session_switch, new_session_id, **given)

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        self._safely(self._provider.on_session_end, messages)

    def on_turn_start(self, turn_number: int, message: str, **given: Any) -> None:
        self._safely(self._provider.on_turn_start, turn_number, message, **given)

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        return str(self._safely(self._provider.on_pre_compress, messages))

    def on_memory_write(self, action: str, target: str, content: str, metadata: Any = None) -> None:
        self._safely(self._provider.on_memory_write, action, target, content, metadata=dict(metadata or {}))

    def on_delegation(self, task: str, result: str, **given: Any) -> None:
        self._safely(self._provider.on_delegation, task, result, **given)

    def shutdown_all(self) -> None:
        self._worker.shutdown(wait=True)
        self._safely(self._provider.shutdown)

    def _safely(self, call: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except Exception as error:  # noqa: BLE001 - as Hermes has it
            self.failures.append(error)
            return None


MANAGERS = ["of the contract", "of Hermes"]


def manager_of(kind: str) -> Any:
    """Return a manager; Hermes' own raises ImportError if it is not installed."""
    if kind == "of the contract":
        return Manager()
    from agent.memory_manager import MemoryManager

    return MemoryManager()

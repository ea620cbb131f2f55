"""A scripted model for Microsoft Agent Framework that records what it was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

__all__ = ["Model", "agent_of"]


class Model(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc, type-arg]
    """A chat client. Each answer is a text, or a (tool, arguments) pair that calls a tool; the last one repeats."""

    def __init__(self, *answers: str | tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.answers = list(answers) or ["Noted."]
        self.sent: list[list[Message]] = []
        self.instructions: list[str] = []
        self.tools: list[list[str]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        self.sent.append(list(messages))
        self.instructions.append(options.get("instructions") or "")
        self.tools.append([tool.name for tool in options.get("tools") or []])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, str):
            contents = [Content.from_text(answer)]
        else:
            name, arguments = answer
            contents = [Content.from_function_call(f"call-{len(self.sent)}", name, arguments=arguments)]

        if stream:

            async def updates() -> Any:
                yield ChatResponseUpdate(role="assistant", contents=contents)

            return self._build_response_stream(updates())

        async def whole() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", contents)])

        return whole()

    @property
    def told(self) -> str:
        """The whole content of the last request."""
        return "\n".join([self.instructions[-1], *(message.text for message in self.sent[-1])])


def agent_of(model: Model, *providers: Any) -> Any:
    """Return an agent with these context providers."""
    return Agent(client=model, name="helper", instructions="Be brief.", context_providers=list(providers))

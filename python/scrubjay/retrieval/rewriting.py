"""Query rewriting: other wordings of a question."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, runtime_checkable

from scrubjay.base.endpoints import Endpoint


class Conversation(NamedTuple):
    """The conversation before a question, which resolves references such as "it" and "his".

    >>> print(Conversation((("user", "I met Tom."), ("model", "How is he?")), "About friends."))
    About friends.
    user: I met Tom.
    model: How is he?
    """

    turns: tuple[tuple[str, str], ...] = ()
    """The last turns, oldest first, as (author, text)."""
    summary: str = ""
    """A summary of the run so far, if there is one."""

    def __str__(self) -> str:
        lines = (f"{author}: {text}" for author, text in self.turns)
        return "\n".join((self.summary, *lines) if self.summary else lines)


@dataclass(frozen=True)
class Rewritten:
    """Other wordings of a question. Empty fields are ignored; the verbatim question is always searched as well.

    >>> Rewritten("trains planes travel", expansions=("I prefer trains",)).expansions
    ('I prefer trains',)
    """

    keywords: str = ""
    """For the lexical ranking of the rewritten query."""
    semantic: str = ""
    """For the vector ranking of the rewritten query."""
    expansions: tuple[str, ...] = ()
    """Separate queries, for both rankings."""


@runtime_checkable
class Rewriter(Protocol):
    """Rewords a question. It may be slow and may raise: the verbatim question is searched in any case.

    An optional attribute `name` identifies the rewriter in caches shared by processes. A rewriter whose `rewrite` has a
    parameter `conversation` is given the conversation of the search (:class:`Conversation`, or None).
    """

    def rewrite(self, query: str) -> Rewritten:
        """Return keywords, a semantic query and expansions for `query`."""
        ...


def hears(rewriter: Rewriter | Callable[..., Any] | None) -> bool:
    """Whether a rewriter, or a function, takes a conversation.

    >>> hears(lambda question: []), hears(lambda question, conversation: [])
    (False, True)
    """
    if rewriter is None:
        return False
    try:
        parameters = inspect.signature(
            rewriter.rewrite if isinstance(rewriter, Rewriter) else rewriter
        ).parameters
    except (TypeError, ValueError):  # builtins have no signature
        return False
    return "conversation" in parameters


def as_rewritten(
    rewriter: Rewriter | Callable[..., Any], query: str, conversation: Conversation | None = None
) -> Rewritten:
    """Call a rewriter, or a function that returns what one returns; with the conversation if it takes one.

    A function may return a :class:`Rewritten`, a list of expansions, or a mapping with some of `keywords` (a str or a
    list of words), `semantic` (or `searchQuery`, `search_query`, `query`) and `expansions` (or `queries`).

    Raises:
        TypeError: it returned another type.
        ValueError: it returned a mapping with none of these names.

    >>> as_rewritten(lambda _: {"keywords": ["Oslo", "trip"], "searchQuery": "Jane travels to Oslo"}, "where to?")
    Rewritten(keywords='Oslo trip', semantic='Jane travels to Oslo', expansions=())
    """
    ask: Callable[..., Any] = rewriter.rewrite if isinstance(rewriter, Rewriter) else rewriter
    answer = ask(query, conversation=conversation) if hears(rewriter) else ask(query)
    if isinstance(answer, Rewritten):
        return answer
    if isinstance(answer, Mapping):
        names = ("keywords", *_SEMANTIC, *_EXPANSIONS)
        if answer and not any(name in answer for name in names):
            raise ValueError(
                f"rewriter: expected some of {', '.join(names)}, got {', '.join(map(str, answer))}"
            )
        semantic = (text for name in _SEMANTIC for text in _texts(answer.get(name)))
        expansions = (text for name in _EXPANSIONS for text in _texts(answer.get(name)))
        return Rewritten(" ".join(_texts(answer.get("keywords"))), next(semantic, ""), tuple(expansions))
    if isinstance(answer, (list, tuple)):
        return Rewritten(expansions=tuple(_texts(answer)))
    raise TypeError(f"rewriter: expected Rewritten, a mapping or a list, got {type(answer).__name__}")


_SEMANTIC, _EXPANSIONS = ("semantic", "searchQuery", "search_query", "query"), ("expansions", "queries")


def _texts(given: Any) -> list[str]:
    """Return a list of texts from one text or several; models return either."""
    given = given if isinstance(given, (list, tuple)) else [given]
    return [str(text) for text in given if text]


def json_of_answer(said: str) -> Any:
    """Return the JSON of a model's answer, which may be inside a Markdown fence.

    Raises:
        ValueError: the answer is not JSON.

    >>> json_of_answer('```json\\n{"keywords": "Oslo"}\\n```')
    {'keywords': 'Oslo'}
    """
    fenced = _FENCED.fullmatch(said)
    return json.loads(said if fenced is None else fenced[1])


_FENCED = re.compile(r"\s*```\w*\s*\n(.*)\n\s*```\s*", re.DOTALL)


PROMPT = """You help to search a person's own notes and conversations. Rewrite the question into what that person \
is likely to have said or written when it was noted, in their words and person. Do not answer the question, and do not \
invent facts, names or numbers. Return one JSON object with
"keywords": the few words that such a note must contain, names and identifiers copied exactly,
"semantic": one sentence such a note might be,
"expansions": up to {n} other ways in which it may have been put.
Question: {query}"""


_BEFORE = """Said before the question, oldest first. Take from it only what "it", "his" or "there" in the question \
stand for:"""


class OpenAIRewriter:
    """A rewriter behind any endpoint with OpenAI's `POST /chat/completions`. Standard library only.

    Args:
        model: its name at the endpoint.
        base_url: the address without "/chat/completions".
        api_key: sent as a bearer token; by default the environment's OPENAI_API_KEY (or MISTRAL_API_KEY), which is sent
            only to that provider's host over https. No message contains it.
        n_expansions: the number of expansions to request.
        timeout_s: of the single attempt.
        prompt: contains {query} and {n}.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        n_expansions: int = 3,
        timeout_s: float = 5.0,
        prompt: str = PROMPT,
    ) -> None:
        self._endpoint = Endpoint("base_url", base_url.rstrip("/") + "/chat/completions", api_key)
        self._url = self._endpoint.shown
        self._model = model
        self._n = n_expansions
        self._timeout_s = timeout_s
        self._prompt = prompt
        prompt_hash = sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16]
        self.name = f"{self._endpoint.name}/{model}/{n_expansions}/{prompt_hash}"

    def rewrite(self, query: str, conversation: Conversation | None = None) -> Rewritten:
        """Call the model once; the conversation, if any, follows the prompt.

        Args:
            query: the question.
            conversation: what was said before it.

        Raises:
            RetrievalError: the endpoint refuses, does not answer in time, or returns something other than a completion.
        """
        prompt = self._prompt.replace("{n}", str(self._n)).replace("{query}", query)
        if conversation is not None and (history := str(conversation)):
            prompt = f"{prompt}\n{_BEFORE}\n{history}"
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "response_format": {"type": "json_object"},
        }
        from scrubjay.base.http import post_json  # the HTTP client is slow to import

        answer = post_json(self._endpoint, body, self._timeout_s)
        parsed = json_of_answer(answer["choices"][0]["message"]["content"])
        if not isinstance(parsed, dict):
            raise ValueError("the model's answer is not a JSON object")
        rewritten = as_rewritten(lambda _: parsed, query)
        return Rewritten(rewritten.keywords, rewritten.semantic, rewritten.expansions[: self._n])

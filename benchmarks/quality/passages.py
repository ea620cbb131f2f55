"""Long texts embedded whole against passages, on judged sets.

    python -m benchmarks.quality.passages [--data FOLDER] [--set beam_dev ...] [--whole 1000 16000 ...] [--joined 16]

WordLlama embeds texts longer than `whole` in passages of 700 characters, and then all of them whole. With `joined`,
that many consecutive turns of a conversation are one text. The default query, and meaning alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.quality.judged import JudgedSet, Memory, Query, data_folder
from benchmarks.quality.metrics import ndcg, recall
from scrubjay import Index, Scope
from scrubjay import Query as Asked
from scrubjay.embedders import WordLlama

DEPTH = 10
ASKED = {"default": Asked(dates=False), "meaning": Asked(mode="vector")}
EVERYTHING = 10**9


def joined(memories: Sequence[Memory], queries: Sequence[Query], n: int) -> tuple[list[Memory], list[Query]]:
    """Join up to n turns of a conversation into texts; a text is relevant if one of its turns is."""
    runs: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        runs.setdefault((memory.scope, (memory.turn or {}).get("run", memory.id)), []).append(memory)
    texts, place = [], {}
    for turns in runs.values():
        turns.sort(key=lambda memory: (memory.turn or {}).get("position", 0))
        for first in range(0, len(turns), n):
            part = turns[first : first + n]
            said = [f"{(memory.turn or {}).get('speaker', '')}: {memory.text}" for memory in part]
            texts.append(replace(part[0], text="\n".join(said), turn=None))
            place.update((memory.id, part[0].id) for memory in part)
    return texts, [
        replace(query, relevant=frozenset(place[id] for id in query.relevant)) for query in queries
    ]


def filled(memories: Sequence[Memory], whole_chars: int) -> Index:
    index = Index(embedder=WordLlama(whole_chars=whole_chars))
    index.upsert_many(
        [
            {
                "id": memory.id,
                "text": memory.text,
                "scope": Scope("judged", user=memory.scope),
                "metadata": memory.turn,
                "created_at": memory.created_at,
            }
            for memory in memories
        ],
        progress=False,
    )
    return index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of judged sets; default: SCRUBJAY_DATA")
    parser.add_argument("--set", nargs="+", default=["beam_dev"], help="judged sets")
    parser.add_argument("--whole", nargs="+", type=int, default=[1000, 16_000], help="characters")
    parser.add_argument("--joined", type=int, default=1, help="turns of a conversation that are one text")
    arguments = parser.parse_args()
    for name in arguments.set:
        judged = JudgedSet(data_folder(arguments.data) / name)
        memories, queries = list(judged.memories), list(judged.queries)
        if arguments.joined > 1:
            memories, queries = joined(memories, queries, arguments.joined)
        sizes = sorted(len(memory.text) for memory in memories)
        print(f"{name}: {len(sizes)} texts, median {sizes[len(sizes) // 2]}, longest {sizes[-1]} characters")
        for whole in [*arguments.whole, EVERYTHING]:
            index = filled(memories, whole)
            for kind, query in ASKED.items():
                gains, shares = [], []
                for asked in queries:
                    scope = Scope("judged", user=asked.scope)
                    hits = index.search(asked.text, scope=scope, k=DEPTH, query=query)
                    ids = [str(id) for id in hits.ids.tolist()]
                    gains.append(ndcg(ids, asked.relevant))
                    shares.append(recall(ids, asked.relevant))
                print(
                    f"  {'all whole' if whole == EVERYTHING else f'whole up to {whole}'}, {kind}: "
                    f"nDCG@10 {sum(gains) / len(gains):.4f}, recall@10 {sum(shares) / len(shares):.4f}"
                )


if __name__ == "__main__":
    main()

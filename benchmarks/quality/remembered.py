"""Whether Memory finds an answer through its question: a judged set of conversations, told to sessions and distilled.

    python -m benchmarks.quality.remembered [--data FOLDER] [--set locomo_dev]

Each turn of a conversation is an event of a run, and is distilled verbatim, without its position. Every question is
recalled with and without the neighbour signal, with the default embedder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.quality.judged import JudgedSet, Memory, data_folder
from benchmarks.quality.metrics import ndcg, recall
from scrubjay import Query, Scope, embedders, memory
from scrubjay.memory.intake.extractors import Extraction, SourcedCandidate
from scrubjay.memory.intake.transcripts import Transcript

DEPTH = 10


def verbatim(ids: dict[int, str], transcript: Transcript) -> Extraction:
    """Return every utterance as a fact, with the id of its event in the set."""
    return Extraction(
        tuple(
            SourcedCandidate(memory.FactCandidate(said.text, metadata={"id": ids[said.seq]}), said.seq)
            for said in transcript.utterances
        )
    )


def runs_of(judged: JudgedSet) -> Iterator[tuple[Scope, str, list[Memory]]]:
    """Yield scope, name and turns of every conversation, in order."""
    runs: dict[tuple[str, str], list[Memory]] = {}
    for said in judged.memories:
        if said.turn is not None:
            runs.setdefault((said.scope, said.turn["run"]), []).append(said)
    for (scope, run), turns in runs.items():
        yield Scope("judged", user=scope), run, sorted(turns, key=lambda said: said.turn["position"])


def tell(kept: memory.Memory, judged: JudgedSet) -> None:
    for scope, run, turns in runs_of(judged):
        with kept.session(scope, run) as session:
            events = session.extend(
                {"kind": "user", "author": said.turn["speaker"], "content": said.text, "at": said.created_at}
                for said in turns
                if said.turn is not None
            )
        ids = {event.seq: said.id for event, said in zip(events, turns, strict=True)}
        kept.distil(run, partial(verbatim, ids), scope)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of judged sets; default: SCRUBJAY_DATA")
    parser.add_argument("--set", default="locomo_dev", help="a set of conversations")
    arguments = parser.parse_args()
    judged = JudgedSet(data_folder(arguments.data) / arguments.set)
    with (
        tempfile.TemporaryDirectory() as folder,
        memory.Memory.open(Path(folder) / "told.scrubjay", embedder=embedders.default()) as kept,
    ):
        tell(kept, judged)
        for neighbours in (False, True):
            asked = Query(neighbours=neighbours, dates=False)
            gains, shares = [], []
            for query in judged.queries:
                found = kept.recall(query.text, Scope("judged", user=query.scope), k=DEPTH, query=asked)
                ids = [hit.metadata["id"] for hit in found]
                gains.append(ndcg(ids, query.relevant))
                shares.append(recall(ids, query.relevant))
            print(
                f"{judged.name}, {len(gains)} questions, {'with' if neighbours else 'without'} neighbours: "
                f"nDCG@10 {sum(gains) / len(gains):.3f}, recall@10 {sum(shares) / len(shares):.3f}"
            )


if __name__ == "__main__":
    main()

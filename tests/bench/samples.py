"""Small data sets in the formats of their projects, written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Zoë",
            "speaker_b": "Mel",
            "session_2_date_time": "10:05 am on 9 June, 2023",
            "session_2": [{"speaker": "Mel", "dia_id": "D2:1", "text": "I sold the piano."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Zoë", "dia_id": "D1:1", "text": "My dog is called Ignatius."},
                {
                    "speaker": "Mel",
                    "dia_id": "D1:2",
                    "text": "Look at this!",
                    "blip_caption": "a photo of a lighthouse",
                },
            ],
            "session_3_date_time": "12:00 am on 1 July, 2023",
        },
        "qa": [
            {
                "question": "What is the dog called?",
                "answer": "Ignatius",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {
                "question": "When was the piano sold?",
                "answer": 2023,
                "evidence": ["D2:01; D9:9", "D"],
                "category": 2,
            },
            {"question": "Who sold a boat?", "adversarial_answer": "Mel", "evidence": [], "category": 5},
        ],
    }
]

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Where did I leave the bicycle?",
        "answer": "at the station",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "answer_s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Which tea is best?"},
                {"role": "assistant", "content": "Green tea, perhaps."},
            ],
            [
                {"role": "user", "content": "I left the bicycle at the station.", "has_answer": True},
                {"role": "assistant", "content": " "},
            ],
        ],
        "answer_session_ids": ["answer_s2"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "multi-session",
        "question": "What is the parrot called?",
        "answer": "You did not mention a parrot.",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_s3"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [[{"role": "user", "content": "I have a cat.", "has_answer": True}]],
        "answer_session_ids": ["answer_s3"],
    },
]

MEMORYAGENTBENCH: list[dict[str, Any]] = [
    {
        "context": "0. Quill was born in Bergen.\n1. Nimbus is a flute. 2. Nimbus is a trumpet.",
        "questions": ["Where was Quill born?", "What is Nimbus?"],
        "answers": [["Bergen", "the city of Bergen"], "trumpet"],
        "metadata": {
            "source": "factconsolidation_sh_6k",
            "qa_pair_ids": ["sh_no0", "sh_no1"],
            "question_types": [],
        },
    }
]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path, rows: Any, indent: int | None = None) -> Path:
    """Write one JSON document."""
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=indent), encoding="utf-8")
    return path


def beir(folder: Path) -> Path:
    """Write a folder in BEIR's format; grades of 2 and 1."""
    corpus = [
        {"_id": "d1", "title": "Jays", "text": "Scrub jays cache acorns.", "metadata": {}},
        {"_id": "d2", "title": "", "text": "Owls hunt at night."},
        {"_id": "d3", "title": "Jays again", "text": "A jay remembers where the acorns are."},
    ]
    queries = [{"_id": "q1", "text": "acorns of jays"}, {"_id": "q2", "text": "nobody judged this"}]
    write_lines(folder / "corpus.jsonl", corpus)
    write_lines(folder / "queries.jsonl", queries)
    qrels = folder / "qrels"
    qrels.mkdir(parents=True, exist_ok=True)
    (qrels / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td3\t2\nq1\td2\t0\n")
    return folder


def judged(folder: Path) -> Path:
    """Write a folder with two users, who also see the shared documents."""
    corpus = [
        {"id": "a1", "text": "Jane likes oolong.", "meta": {"scope": "jane", "ts": "2024-01-02"}},
        {"id": "b1", "text": "Tom likes oolong.", "meta": {"scope": "tom"}},
        {"id": "c1", "text": "The office has a kettle."},
    ]
    queries = [
        {"id": "q1", "text": "who likes oolong?", "scope": "jane", "category": "taste", "answer": "Jane"},
        {"id": "q2", "text": "is there a kettle?", "scope": "tom", "category": "things", "ts": "2024-02-03"},
    ]
    write_lines(folder / "corpus.jsonl", corpus)
    write_lines(folder / "queries.jsonl", queries)
    (folder / "qrels.tsv").write_text("q1\ta1\t1\nq2\tc1\t1\n")
    return folder

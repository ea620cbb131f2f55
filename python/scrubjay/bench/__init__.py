"""Benchmarks: public data sets of questions, a runner with figures by category, timing of calls.

>>> from scrubjay.bench import Case, Document, IndexSearcher, Question, run
>>> class Two:
...     name = "two"
...     def __iter__(self):
...         documents = [Document("a", "Jane likes tea."), Document("b", "Tom likes chess.")]
...         yield Case("jane", documents, (Question("q", "who likes tea?", "taste", {"a": 1.0}),))
>>> report = run(Two(), lambda: IndexSearcher(), passes=0, progress=False)
>>> report.all.quality["recall@1"], report.categories["taste"].n
(1.0, 1)

`docs/measuring.md` explains fair measurements. :mod:`scrubjay.bench.mteb`, :mod:`scrubjay.bench.vectordbbench` and
:mod:`scrubjay.bench.pytest_plugin` integrate with the projects of these names and are imported when used.
"""

from scrubjay.bench.answerers import Answerer, Asked, answer_scores, write_hypotheses
from scrubjay.bench.datasets import Case, Dataset, Document, Question
from scrubjay.bench.figures import Figures
from scrubjay.bench.folders import JudgedFolder
from scrubjay.bench.formats import FORMATS, format_of, open_dataset
from scrubjay.bench.locomo import LoCoMo
from scrubjay.bench.longmemeval import LongMemEval
from scrubjay.bench.memoryagentbench import MemoryAgentBench
from scrubjay.bench.running import Report, run
from scrubjay.bench.searchers import Found, IndexSearcher, Searcher

__all__ = [
    "FORMATS",
    "Answerer",
    "Asked",
    "Case",
    "Dataset",
    "Document",
    "Figures",
    "Found",
    "IndexSearcher",
    "JudgedFolder",
    "LoCoMo",
    "LongMemEval",
    "MemoryAgentBench",
    "Question",
    "Report",
    "Searcher",
    "answer_scores",
    "format_of",
    "open_dataset",
    "run",
    "write_hypotheses",
]

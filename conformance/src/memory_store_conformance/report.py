"""Results of checks as a table, as JSON and as an exit code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from memory_store_conformance.registry import LEVELS, Check

__all__ = ["OUTCOMES", "Report", "Result"]

OUTCOMES = ("passed", "failed", "not offered", "measured")
"""The outcomes of a check. "measured" is for the level costs, which judges nothing."""


@dataclass(frozen=True)
class Result:
    """The result of one check. `evidence` is what went wrong, or what is missing."""

    id: str
    outcome: str
    promise: str
    why: str
    evidence: str = ""
    seconds: float = 0.0
    figures: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, check: Check, outcome: str, evidence: str, seconds: float, figures: dict[str, Any] | None = None
    ) -> Result:
        """Return the result of a check."""
        return cls(check.id, outcome, check.promise, check.why, evidence, round(seconds, 3), figures)

    @property
    def level(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Report:
    """The results of one store."""

    name: str
    capabilities: Sequence[str]
    results: Sequence[Result]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the run: versions, machine."""

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.outcome == "failed"]

    @property
    def exit_code(self) -> int:
        """0 if nothing failed and something passed, 1 if something failed, 2 if nothing could be judged."""
        if self.failures:
            return 1
        judged = any(result.outcome in ("passed", "measured") for result in self.results)
        return 0 if judged else 2

    def counts(self, level: str) -> Counter[str]:
        """Return the number of checks of a level by outcome."""
        return Counter(result.outcome for result in self.results if result.level == level)

    def table(self) -> str:
        """Return the counts of each level, followed by the failures with their evidence."""
        lines = [self.name, "", f"{'level':<12}{'passed':>8}{'failed':>8}{'not offered':>13}"]
        for level in LEVELS:
            counts = self.counts(level)
            if not counts:
                continue
            if level == "costs":
                lines.append(f"{level:<12}{counts['measured']:>8} measured, {counts['failed']} failed")
            else:
                lines.append(
                    f"{level:<12}{counts['passed']:>8}{counts['failed']:>8}{counts['not offered']:>13}"
                )
        for result in self.results:
            if result.figures:
                figures = ", ".join(f"{name} {value}" for name, value in result.figures.items())
                lines.append(f"  {result.id}: {figures}")
        for result in self.failures:
            lines += [
                "",
                f"FAILED {result.id}",
                f"  promised: {result.promise}",
                f"  why it matters: {result.why}",
                f"  evidence: {result.evidence}",
            ]
        total = Counter(result.outcome for result in self.results)
        lines += ["", ", ".join(f"{total[outcome]} {outcome}" for outcome in OUTCOMES)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the report as JSON, the inverse of :meth:`from_json`."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, default=str)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report from the output of :meth:`to_json`.

        Raises:
            ValueError: the text is not a report.
        """
        try:
            fields = json.loads(text)
            results = [Result(**result) for result in fields["results"]]
            return cls(fields["name"], fields["capabilities"], results, fields["about"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"text: expected a report as JSON, got another object ({error})") from None

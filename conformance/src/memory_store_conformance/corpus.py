"""Texts of the retrieval checks: generated from fixed lists, identical in every run."""

from __future__ import annotations

import random

__all__ = ["PARAPHRASES", "identifiers", "notes"]

_SUBJECTS = [
    "The staging key",
    "Her booking",
    "The invoice",
    "Ticket",
    "The order",
    "His seat",
    "The server",
    "The licence",
]
_VERBS = ["is", "was moved to", "is filed under", "has the number", "was closed as", "is known as"]
_TOPICS = [
    "trains",
    "coffee",
    "invoices",
    "the garden",
    "a birthday",
    "the dentist",
    "a sailing trip",
    "the printer",
]
_ENDS = [
    "on Monday",
    "before lunch",
    "with the team",
    "for the customer",
    "in Lisbon",
    "next spring",
    "as agreed",
]


def identifiers(n: int) -> list[str]:
    """Return n distinct identifiers of the kinds that people paste: keys, tickets, versions, addresses."""
    random_source = random.Random(7)
    names: dict[str, None] = {}
    while len(names) < n:
        number = random_source.randrange(10_000)
        forms = [
            f"sk-stg-{number:04d}",
            f"TS-{number}",
            f"ORD{number:04d}X",
            f"build_{number}",
            f"{number % 255}.{number % 100}.7.{number % 50}",
            f"jane{number}@example.org",
        ]
        names[random_source.choice(forms)] = None
    return list(names)


def notes(n: int, names: list[str]) -> list[str]:
    """Return n notes; the i-th contains the i-th identifier if there is one, the others contain none."""
    random_source = random.Random(11)
    texts = []
    for number in range(n):
        if number < len(names):
            texts.append(f"{random_source.choice(_SUBJECTS)} {random_source.choice(_VERBS)} {names[number]}.")
        else:
            topic, end = random_source.choice(_TOPICS), random_source.choice(_ENDS)
            texts.append(f"Talked about {topic} {end}, note {number}.")
    return texts


PARAPHRASES = [
    ("She prefers travelling by night trains to flying", "travels by train at night"),
    ("Invoices are sent out on the first Monday of a month", "when is the invoice sent"),
    ("He is allergic to peanuts and carries an adrenaline pen", "peanut allergy"),
    ("The staging database was migrated to Frankfurt", "database migration staging"),
    ("Her daughter started playing the violin", "daughter plays violin"),
    ("The printers on the second floor need replacing", "replace the printer on floor two"),
    ("Decaffeinated coffee only after lunchtime", "coffee after lunch, decaffeinated"),
    ("Meetings should never be scheduled on Fridays", "schedule a meeting on Friday"),
    ("The customer complained about delayed shipments", "complaint: shipment delay"),
    ("They sailed around the islands last summer", "sailing around an island in summer"),
    ("Passwords are rotated every ninety days", "password rotation"),
    ("His favourite composers are Bach and Ligeti", "favourite composer"),
    ("The garden is watered automatically at dawn", "automatic watering of the garden"),
    ("Refunds above fifty euros require an approval", "approve a refund over fifty euros"),
    ("She is learning Norwegian with a tutor", "learns Norwegian from tutors"),
    ("The backups are encrypted and stored offsite", "offsite backup encryption"),
    ("The dentist's appointment was postponed to spring", "postpone dentist appointments"),
    ("Deployments happen on Tuesdays after the standup", "deployment on Tuesday"),
    ("He collects stamps from vanished countries", "stamp collection"),
    ("The contract is renewed annually in October", "annual contract renewal"),
]
"""Pairs (note, question): other forms of some of the same words."""

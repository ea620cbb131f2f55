"""Short made-up notes and questions for a personal assistant, which manuals do not cover.

Written for this purpose and filled with WordNet's words by category. No template was modelled on a judged set.
"""

from __future__ import annotations

import random
import re

NAMES = (
    "Aaron Ada Agnes Ahmed Aiko Albert Alma Amara Amir Andrea Anika Anna Arthur Astrid Beatrice Bruno Carla Carlos "
    "Chen Chloe Clara Daniel David Deepa Diego Edith Elena Elias Emil Emma Erik Esther Eva Farid Felix Fiona Frank "
    "Freya George Grace Greta Hanna Hassan Hector Helen Henry Hugo Ida Igor Ingrid Irene Isaac Ivan Jack James Jane "
    "Jonas Julia Kai Karim Kate Kenji Lara Laura Leila Leo Lena Lily Linus Lucas Lucy Malik Marco Maria Martin Maya "
    "Mei Mia Miriam Mona Nadia Naomi Nils Nina Noor Olga Oliver Omar Oscar Otto Paul Paula Pedro Peter Petra Priya "
    "Rachel Rafael Rita Robert Rosa Ruth Sam Samir Sara Silvia Simon Sofia Stefan Susan Tara Theo Thomas Tom Uma "
    "Vera Victor Viola Walter Wei Yara Yuki Yusuf Zoe"
).split()
PLACES = (
    "Accra,Athens,Bergen,Berlin,Bogota,Boston,Bristol,Cairo,Cape Town,Chicago,Copenhagen,Cork,Cracow,Dakar,Delhi,"
    "Denver,Florence,Geneva,Ghent,Hamburg,Hanoi,Havana,Helsinki,Istanbul,Kyoto,Lima,Lisbon,London,Lyon,Madrid,"
    "Manila,Milan,Montreal,Munich,Nairobi,Naples,New York,Osaka,Oslo,Paris,Perth,Porto,Prague,Quito,Riga,Rome,"
    "Seattle,Seoul,Stockholm,Sydney,Tallinn,Toronto,Tunis,Vienna,Warsaw,Wellington,Zurich"
).split(",")
DAYS = (
    "on Monday", "on Tuesday", "on Thursday", "on Sunday", "in the morning", "at noon", "in the evening", "at night",
    "every day", "twice a week", "once a year", "in spring", "in August", "in winter", "since May", "until October",
    "before breakfast", "after work", "at weekends", "the day after tomorrow", "in a fortnight",
)  # fmt: skip
RELATIVES = (
    "aunt", "boss", "brother", "colleague", "cousin", "daughter", "doctor", "father", "friend", "grandmother",
    "husband", "landlord", "mother", "neighbour", "nephew", "sister", "son", "teacher", "uncle", "wife",
)  # fmt: skip

NOTES = """Prefers {food} to {food}.
Drinks {food} {day}, never {food}.
Keeps the {artifact} next to the {artifact}.
The {artifact} is broken; {name} knows somebody who repairs it.
Has been afraid of {animal} as long as anyone remembers.
{name} takes {substance} against {state}.
{name} cannot stand {food}.
Wants answers about {cognition} to be short and without jargon.
Please remind me to {verb} the {artifact} {day}.
The {group} meets in {place} {day}.
{name} and the {relative} share a {artifact}.
There is a {plant} behind the house, and a {animal} lives under it.
I would rather {verb} than {verb}.
My {relative} thinks that {cognition} matters more than {possession}.
Trains to {place} leave {day}; {name} takes them {day}.
A {person} from {place} is going to stay with us {day}.
The {communication} about {phenomenon} has to be finished {day}.
Nobody in the {group} likes the {adj} {artifact}.
The {body} hurts {day}, but less than it did.
We ordered {number} {artifact} and got {number}.
{name} left the {group} because of the {event}.
The bill for the {artifact} was {number} euros, and {name} paid it.
Learns {cognition} with {name} {day}.
Whoever goes to {place} should see the {object}.
This {act} is more {adj} than I expected.
Our {relative} grows {plant} and sells {food}.
Let us {verb} first and {verb} later.
They had {state} for years and never told anybody.
The flat in {place} has {number} rooms and a {artifact}.
I am not sure whether {cognition} has to do with {feeling}.
{name} is a {person}, and so is the {relative}.
It took {number} hours to {verb} the {object}.
Never put {substance} into the {artifact}!
I sold the {adj} {artifact}; {name} has the money.
What a {adj} {event} that was.
Thank you, that {communication} helped me a lot.
Sorry, I forgot the {artifact} again.
My {relative} broke an arm during the {event}.
A {feeling} like this comes only {day}.
The {person} said no, so we have to {verb} without {possession}.
Writes {communication} about {animal} and {plant}.
{name} will pick up the {artifact} in {place} {day}.""".split("\n")
QUESTIONS = """Who repairs the {artifact}?
Where is the {artifact} kept?
Is {name} afraid of anything?
Does {name} take anything against {state}?
What helps against {state}?
Which {food} should I not serve to {name}?
How much was the {artifact}?
What do I have to {verb} {day}?
Who is coming from {place}?
Which {group} meets {day}?
Why did {name} leave?
What grows behind the house?
How does one {verb} a {object}?
What is the difference between {cognition} and {cognition}?
What is {substance} good for?
Where do {animal} live?
Who among us knows about {cognition}?
Is there anything {adj} about {phenomenon}?
How long does it take to {verb}?
What does a {person} do all day?
What should I see in {place}?
Who has the money for the {artifact}?
What are the causes of {state}?
What is made of {substance}?
What is near the {body}?
Is {act} allowed in {place}?
Who writes about {animal}?
Which {communication} is due {day}?
How do {animal} and {animal} differ?
What can I cook with {food} and {food}?
When do trains to {place} leave?
What hurts {name}?
How many rooms are there?
What makes {name} happy?
Which {artifact} needs {substance}?""".split("\n")
OPENINGS = (
    "",
    "",
    "",
    "",
    "",
    "Note: ",
    "Well, ",
    "By the way: ",
    "Oh, ",
    "For the record: ",
    "Again: ",
    "Yes. ",
)


class Templates:
    """Fills templates, with its own random generator."""

    def __init__(self, words: dict[str, list[str]], seed: int) -> None:
        self._random = random.Random(seed)
        self._words = words

    def note(self) -> str:
        """Return one to three sentences."""
        text = " ".join(
            self._filled(self._random.choice(NOTES)) for _ in range(self._random.choice((1, 1, 2, 3)))
        )
        return self._random.choice(OPENINGS) + text

    def question(self) -> str:
        """Return one question."""
        return self._filled(self._random.choice(QUESTIONS))

    def _filled(self, template: str) -> str:
        text = re.sub(r"\{(\w+)\}", lambda match: self._word(match[1]), template)
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)

    def _word(self, kind: str) -> str:
        choose = self._random.choice
        given = {"name": NAMES, "place": PLACES, "day": DAYS, "relative": RELATIVES}.get(kind)
        if given is not None:
            return choose(given)
        if kind == "number":
            return str(self._random.randint(2, 60))
        words = self._words[kind]
        return words[min(int(self._random.expovariate(1 / 250)), len(words) - 1)]

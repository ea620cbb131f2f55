"""Function words of Japanese questions, pairs of hiragana. The twin of `cpp/src/text/japanese_function_words.hpp`."""

from __future__ import annotations

import re

TITLES = "さん さんたち くん ちゃん さま たち".split()
PARTICLES = """
    は が を に で と の も へ や か から まで より だけ など には では とは のは のが のを のに ので にも
    でも とも への での との からの からは までの までに については について という として による によって
    などの などを などは
""".split()
ENDINGS = """
    です でした でしょう だった である ではない ではありません します しました しません して した しない
    する している しています していた していました いる います いた いました いない いません ある あります
    あった ありました ありません なる なります なった なりました ます ました ません ましょう ください
    してください しないで しないでください のです んです なのです ことです こと ことが ことを ことは もの
    ものが ものを ものは とき ときに ときは ため ために ように
""".split()
TAILS = "か ね よ が けど の".split()
RUN = re.compile(
    "".join(f"(?:{'|'.join(map(re.escape, words))})?" for words in (TITLES, PARTICLES, ENDINGS, TAILS))
)


def japanese_function_words(text: str) -> set[str]:
    """Return the pairs of neighbouring characters that lie in the text only inside runs of hiragana that consist of a
    title, a particle, an ending and a final particle, in this order, each of which may be absent."""
    inside: set[str] = set()
    elsewhere: set[str] = set()
    for run in re.findall("[\u3041-\u3096]+", text):
        pairs = {run[i : i + 2] for i in range(len(run) - 1)}
        (inside if RUN.fullmatch(run) else elsewhere).update(pairs)
    return inside - elsewhere

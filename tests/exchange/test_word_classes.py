"""Words of captions have classes; nouns and verbs are in their base form."""

from __future__ import annotations

import pytest

from posegen.config.load import load_config
from posegen.exchange.text_motion import library_verbs, tagged
from posegen.library.load import load_library
from posegen.synthesis.synthesize import synthesize

VERBS = library_verbs(load_library(None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a man walks to his left", "a/DET man/NOUN walk/VERB to/ADP his/PRON left/ADJ"),
        ("She is throwing two balls.", "she/PRON is/AUX throw/VERB two/NUM ball/NOUN"),
        ("two women take a walk", "two/NUM woman/NOUN take/VERB a/DET walk/NOUN"),
        ("the person power-walks", "the/DET person/NOUN powerwalk/VERB"),
        ("with both feet", "with/ADP both/DET foot/NOUN"),
        (
            "an individual stomped, then a human took a walk",
            "an/DET individual/NOUN stomp/VERB then/ADV a/DET human/NOUN take/VERB a/DET walk/NOUN",
        ),
        ("to the left, followed by jumping", "to/ADP the/DET left/ADJ follow/VERB by/ADP jump/VERB"),
        ("somebody can be seen walking diagonally", "somebody/PRON can/AUX be/AUX see/VERB walk/VERB diagonally/ADV"),
    ],
)
def test_known_sentences(text: str, expected: str) -> None:
    assert tagged(text, VERBS) == expected


def test_each_token_has_one_class() -> None:
    rows = synthesize(load_config("crowd"), range(30)).rows
    texts = {caption["text"] for row in rows for caption in row["captions"]}
    tokens = [token for text in texts for token in tagged(text, VERBS).split()]
    assert len(tokens) > 1000
    assert all(token.count("/") == 1 and "#" not in token for token in tokens)
    classes = {token.split("/")[1] for token in tokens}
    assert {"VERB", "NOUN", "DET", "ADP", "ADJ", "ADV", "NUM", "PRON", "CCONJ", "AUX"} <= classes

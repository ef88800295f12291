"""Mutate valid input: Hypothesis changes values, keys and types of documents; random bytes of texts are changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Document = dict[str, Any]

TOKENS = [
    b"&a ", b"*a", b"<<: ", b"!!python/object/apply:os.system ", b"!!int ", b"? ", b"- ", b": ", b"---\n", b"%YAML 9\n", b"\n",
    b"\t", b"#", b"|", b">", b"'", b'"', b"[", b"{", b"]", b"}", b",", b"~", b"\\", b"\x00", b"\x1b[2J", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc2\x85", b"\xe2\x80\xa8", b"\\ud800", b"\\u0000", b".nan", b".inf", b"NaN", b"-1",
    b"0", b"1e400", b"1e-400", b"9" * 45, b"99999999999999999999", b"[" * 40, b"null", b"true", b"../",
]  # fmt: skip
"""Tokens with a meaning in YAML, JSON, file systems or terminals."""

TEXTS = st.sampled_from(
    ["", "..", "a/../b", "/", "~nobody", "a\0b", "x" * 300, "\x1b[2J", "\u202e", "a\nb", "x" * 2000, "1e400", "walk"]
)
NUMBERS = st.sampled_from(
    [0, -1, 1, 2, 19, 20, 2**31, 2**63, 10**39, 0.0, -0.0, 1e-320, 0.5, 1e308, float("nan"), float("inf")]
)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS | st.integers(-100, 1000) | st.floats() | st.text(max_size=5)
VALUES = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.text(max_size=4), LEAVES, max_size=2)

Place = tuple[Any, Any]


def _places(document: Any) -> Iterator[Place]:
    """List all containers in a document with all their keys."""
    keys = document.keys() if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in list(keys):
        yield document, key
        yield from _places(document[key])


@st.composite
def _changed(draw: st.DrawFn, documents: Sequence[Document]) -> Document:
    document = copy.deepcopy(documents[draw(st.integers(0, len(documents) - 1))])
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(document))
        if not places:
            break
        container, key = places[draw(st.integers(0, len(places) - 1))]
        change = draw(st.sampled_from(["value", "value", "number", "number", "key", "remove", "wrap", "copy"]))
        if change == "value":
            container[key] = draw(VALUES)
        elif change == "number":
            container[key] = draw(NUMBERS)
        elif change == "key" and isinstance(container, dict):
            container[draw(TEXTS | st.text(max_size=6))] = container.pop(key)
        elif change == "remove":
            del container[key]
        elif change == "wrap":
            container[key] = draw(st.sampled_from([[container[key]], {"a": container[key]}]))
        else:  # replace a part of the document by another part
            source, other = places[draw(st.integers(0, len(places) - 1))]
            container[key] = copy.deepcopy(source[other])
    return document


def changed_documents(documents: Sequence[Document], count: int, chance: int, use: Callable[[Document], None]) -> None:
    """Let Hypothesis change documents, and call `use` with each result.

    Parameters
    ----------
    documents : sequence of dict
        Good ones.
    count : int
        How many to make.
    chance : int
        Seed of the search.
    use : callable
        It must not raise.
    """

    # Called without Hypothesis's own runner; there is nothing to shrink, because nothing raises.
    @seed(chance)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(_changed(documents))
    def search(document: Document) -> None:
        use(document)

    search()


def changed_bytes(texts: Sequence[bytes], draw: random.Random) -> bytes:
    """Change some bytes of one of several texts: flip, cut, duplicate, splice, or insert a token."""
    data = bytearray(draw.choice(texts))
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        start = draw.randrange(len(data) + 1)
        stop = min(len(data), start + draw.choice((1, 1, 4, 20, 200)))
        match draw.randrange(6):
            case 0 if data:
                data[start % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                del data[start:stop]
            case 2:
                data[start:start] = data[start:stop] * draw.choice((1, 2, 30))
            case 3:
                other = draw.choice(texts)
                data[start:stop] = other[draw.randrange(len(other)) :][: draw.choice((5, 50, 500))]
            case 4:
                del data[start:]
            case _:
                data[start:stop] = draw.choice(TOKENS)
    return bytes(data)


def written_yaml(document: Document, flow: bool) -> bytes:
    """Write a document as YAML."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(document, Dumper=dumper, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    return text.encode("utf-8", "surrogatepass")


def written_json(document: Document) -> bytes:
    """Write a document as JSON, with NaN and lone surrogates if it has any."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

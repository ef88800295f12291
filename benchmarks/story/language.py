"""Number, length and correct English of the captions of 10,000 samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import blocks
from benchmarks.figures import Figure
from benchmarks.measure import scaled

SAMPLES = 10_000
UNIQUE = 25_000
SHORTEST, LONGEST = 8.0, 16.0
"""Words, on average."""
SILENT = r"(?:hour|honest|honou?r|heir)"
SPOKEN = r"(?:uni[^nm]|use|usual|euro|one\b|once\b)"
"""Beginnings of words that are spoken with a vowel but written with a consonant, and the reverse."""
NAMED = 10

FAULTS = {
    "a doubled word": re.compile(r"\b(\w+)\W+\1\b"),
    "a broken article": re.compile(rf"\ba (?!{SPOKEN})[aeiou]|\ba {SILENT}|\ban (?!{SILENT})[^aeiou\W]|\ban {SPOKEN}"),
    "an article without its noun": re.compile(r"\b(?:a|an|the) (?:a|an|the|and|then|with)\b|\b(?:a|an|the)[.,;:]"),
    "a hole or a bracket": re.compile(r"[{}\[\]<>_]"),
    "spaces or marks out of place": re.compile(r"  | [,.;:]|^\s|\s$|[,;:.]{2}|[,;:]$|[^\w\s.,;:'-]"),
    "one of many, or many of one": re.compile(
        r"\b(?:one|1) (?:people|times)\b|\b(?:two|three|four|five|six) (?:person|time)\b"
    ),
}


def faults(text: str) -> list[str]:
    """Name what is wrong with the English of a caption, as far as patterns detect it.

    All sentences of a caption begin with a capital letter, or none does.
    """
    found = [name for name, pattern in FAULTS.items() if pattern.search(text.lower())]
    if len({sentence[:1].isupper() for sentence in re.split(r"(?<=\.) ", text)}) != 1 or not text:
        found.append("a beginning in the wrong case")
    return found


def measure(folder: Path) -> Iterator[Figure]:
    samples = scaled(SAMPLES, 50)
    seen: set[str] = set()
    words, captions = 0, 0
    wrong: Counter[str] = Counter()
    named: list[str] = []
    parts: set[str] = set()
    for batch in blocks(samples):
        for row in batch.rows:
            for caption in row["captions"]:
                text = caption["text"]
                captions, words = captions + 1, words + len(text.split())
                if text not in seen:
                    seen.add(text)
                    of_text = faults(text)
                    wrong.update(of_text)
                    if of_text and len(named) < NAMED:
                        named.append(f"sample {row['sample']}: {', '.join(of_text)}: {text}")
            parts.update(segment["text"] for actor in row["actors"] for segment in actor["segments"] if "text" in segment)
    mean = words / captions
    unique = f"{len(seen):,} of {captions:,}"
    yield Figure(f"different captions of {samples:,} samples", unique, f"at least {UNIQUE:,}", len(seen) >= UNIQUE)
    yield Figure("mean length", f"{mean:.1f} words", f"{SHORTEST:.0f} to {LONGEST:.0f}", SHORTEST <= mean <= LONGEST)
    counts = ", ".join(f"{name} {count:,}" for name, count in wrong.most_common()) or "none"
    yield Figure("captions with a language error", counts, "none", not wrong, named)
    bad = sorted(text for text in parts if faults(text))
    name = f"segment captions with a language error, {len(parts):,} different"
    yield Figure(name, f"{len(bad):,}", "none", not bad, bad[:NAMED])

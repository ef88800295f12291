"""What search looks through: what each segment of a dataset says, once, with its vector, its action and where it is.

A caption tells of several actions, so none of them stands out in its vector; what is said of a segment tells of one. It is
made when one first searches, which takes seconds, and again when the dataset, the encoder or the related words have changed::

    DATASET/embeddings/ENCODER/
      search/phrases.parquet    text, action, vector; `related` where it is no text of the dataset but a related word
      search/places.parquet     sample, variant, phrase
      search/actions.parquet    the direction of each action among vectors
      receipts/search/00000.json
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.dataset.documents import Origin
from posegen.dataset.embedding_layout import OverlayReceipt, embed_hint, read_checked
from posegen.dataset.files import remove_temporary_files
from posegen.dataset.layout import rows_path
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset, content_errors
from posegen.dataset.runs import current_run
from posegen.dataset.tables import decode_table, encode_table
from posegen.embedding.encoder import Encoder
from posegen.embedding.parts import commit, sound_receipt
from posegen.embedding.search_actions import directions
from posegen.embedding.search_words import Lexicon, lexicon
from posegen.hashing import byte_hash
from posegen.library import load_library
from posegen.validation import validated
from posegen.yaml_files import read_yaml

__all__ = ["Related", "SearchIndex", "open_index", "related_words"]

Array = NDArray[Any]

SEARCH = "search"
PHRASES, PLACES, ACTIONS = "search/phrases.parquet", "search/places.parquet", "search/actions.parquet"
VERSION = 3
_RELATED = Path(__file__).parent / "related"
_PLACES = pa.schema([("sample", pa.int64()), ("variant", pa.string()), ("phrase", pa.int32())])


@dataclass(frozen=True)
class Related:
    """Phrases for actions that captions do not use, by action; what goes before those without a subject; how others begin."""

    words: dict[str, tuple[str, ...]]
    subject: str
    own: tuple[str, ...]

    def sentence(self, phrase: str) -> str:
        """Put the subject before a phrase that has none."""
        return phrase if phrase.split(" ", 1)[0] in self.own else f"{self.subject} {phrase}".strip()


@dataclass(frozen=True)
class SearchIndex:
    """What there is to look through.

    Attributes
    ----------
    texts, actions : list of str
        Of each phrase.
    related : bool [phrases]
        Whether it is a related word, which no sample has.
    vectors : float32 [phrases, dimension]
    samples, phrases : int64 [places]
        In the order of samples, in which sample which phrase is,
    variants : list of str
        and in which variant.
    directions : float32 [actions, dimension + 1]
        Of :func:`posegen.embedding.search_actions.directions`.
    """

    texts: list[str]
    actions: list[str]
    related: Array
    vectors: Array
    samples: Array
    phrases: Array
    variants: list[str]
    directions: Array

    @cached_property
    def names(self) -> list[str]:
        """All actions, sorted."""
        return sorted(set(self.actions))

    @cached_property
    def numbers(self) -> Array:
        """int64 [phrases]: the number of the action of each phrase among them."""
        number = {name: place for place, name in enumerate(self.names)}
        return np.array([number[action] for action in self.actions], np.int64)

    @cached_property
    def words(self) -> Lexicon:
        """What single words tell of actions."""
        return lexicon(self.texts, self.numbers, self.related, len(self.names))


@cache
def related_words(language: str) -> Related:
    """Read the related words of a language; none where there are none."""
    path = _RELATED / f"{language}.yaml"
    if not path.is_file():
        return Related({}, "", ())
    document = read_yaml(path)
    words = {action: tuple(phrases) for action, phrases in document["actions"].items()}
    return Related(words, document["subject"], tuple(document["own"]))


def open_index(dataset: Dataset, folder: Path, encoder: Encoder) -> SearchIndex:
    """Open the index of a dataset, making it first if need be.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Of the encoder's vectors.
    encoder : Encoder

    Returns
    -------
    SearchIndex

    Raises
    ------
    PosegenError
        If the dataset is damaged, or another run is at work.
    """
    config = validated(Config, dataset.header.config, lambda key: f"{dataset.path}: in the config of its dataset.json: ")
    related = related_words(str(load_library(config.story.library).words["language"]))
    parts = [dataset.receipt(shard).files[rows_path(shard)].xxh3 for shard in range(dataset.header.shards())]
    told = [repr((VERSION, len(dataset), encoder.fingerprint)), repr(related), *parts]
    source = byte_hash(f"{each}\n".encode() for each in told)
    receipt = sound_receipt(folder, SEARCH, 0)
    if receipt is None or receipt.source != source:
        run = current_run()
        with locked(folder, run):
            remove_temporary_files(folder)
            receipt = _make(dataset, folder, encoder, related, source, run)
    return _read(folder, receipt)


def _make(dataset: Dataset, folder: Path, encoder: Encoder, related: Related, source: str, run: str) -> OverlayReceipt:
    numbers: dict[tuple[str, str], int] = {}
    places = [_places(dataset, shard, numbers) for shard in range(dataset.header.shards())]
    said = len(numbers)
    present = {action for _, action in numbers}
    pairs = [*numbers, *((word, action) for action in sorted(present) for word in related.words.get(action, ()))]
    vectors = encoder.encode([related.sentence(text) for text, _ in pairs])
    actions = np.unique(np.array([action for _, action in pairs], object), return_inverse=True)[1]
    apart = directions(vectors, actions, np.arange(len(pairs)) >= said)
    phrases = pa.table(
        {
            "text": [text for text, _ in pairs],
            "action": [action for _, action in pairs],
            "related": [number >= said for number in range(len(pairs))],
            "vector": pa.array(list(vectors), pa.list_(pa.float32())),
        }
    )
    table = pa.concat_tables([_PLACES.empty_table(), *places])
    of_actions = pa.table({"direction": pa.array(list(apart), pa.list_(pa.float32()))})
    files = {PHRASES: [encode_table(phrases)], PLACES: [encode_table(table)], ACTIONS: [encode_table(of_actions)]}
    counts = {"phrases": len(pairs), "places": len(table), "actions": len(apart)}
    return commit(folder, SEARCH, 0, len(dataset), source, counts, files, run)


def _places(dataset: Dataset, shard: int, numbers: dict[tuple[str, str], int]) -> pa.Table:
    """Find which phrases are in which sequences of a shard, numbering those that are new."""
    table = dataset.table(shard).select(["sample", "variant", "actors"])
    with content_errors(dataset.path):
        actors = table.column("actors").combine_chunks()
        segments = pc.struct_field(actors.flatten(), "segments")
        said = segments.flatten()
        codes = [pc.struct_field(said, name).dictionary_encode() for name in ("text", "action")]
        of_actor = np.repeat(np.arange(len(actors)), actors.value_lengths().to_numpy(zero_copy_only=False))
        sequence = np.repeat(of_actor, segments.value_lengths().to_numpy(zero_copy_only=False))
    text, action = (code.indices.to_numpy(zero_copy_only=False).astype(np.int64) for code in codes)
    texts, actions = (code.dictionary.to_pylist() for code in codes)
    distinct, where = np.unique(text * len(actions) + action, return_inverse=True)
    found = [(texts[code // len(actions)], actions[code % len(actions)]) for code in distinct.tolist()]
    number = np.array([numbers.setdefault(pair, len(numbers)) for pair in found], np.int64)[where.reshape(-1)]
    places = np.unique(np.stack([sequence, number], axis=1), axis=0)
    columns = [table.column(name).take(pa.array(places[:, 0])).combine_chunks() for name in ("sample", "variant")]
    return pa.table([*columns, pa.array(places[:, 1], pa.int32())], schema=_PLACES)


def _read(folder: Path, receipt: OverlayReceipt) -> SearchIndex:
    phrases, places, actions = (
        decode_table(read_checked(folder, name, receipt.files), receipt.numbers[count])
        for name, count in ((PHRASES, "phrases"), (PLACES, "places"), (ACTIONS, "actions"))
    )
    with content_errors(Origin(str(folder / SEARCH), embed_hint(folder)).file):
        vectors, apart = phrases.column("vector").combine_chunks(), actions.column("direction").combine_chunks()
        return SearchIndex(
            phrases.column("text").to_pylist(),
            phrases.column("action").to_pylist(),
            phrases.column("related").to_numpy(),
            vectors.flatten().to_numpy().reshape(len(phrases), -1),
            places.column("sample").to_numpy(),
            places.column("phrase").to_numpy().astype(np.int64),
            places.column("variant").to_pylist(),
            apart.flatten().to_numpy().reshape(len(actions), -1),
        )

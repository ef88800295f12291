"""Inputs of fuzzing: each kind of file that posegen reads, with valid examples and its reader."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
import yaml

import posegen
from benchmarks.keep.mutations import written_json
from posegen.captions.captions import write_captions
from posegen.captions.segments import find_segments
from posegen.config.identity import digest
from posegen.config.load import load_config
from posegen.dataset.documents import MAX_BYTES
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import find_problems
from posegen.library.load import Library, read_library
from posegen.motion.library_tables import library_tables
from posegen.planning.scenes import plan_scenes
from posegen.synthesis.synthesize import synthesize

NOTHING = Library(entries={}, families={}, themes={}, words={})
LIBRARY = Path(posegen.__file__).parent / "library"
OPENING = b'{"hash":"'


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes
    ----------
    name : str
        Text of a figure.
    share : int
        How many of 100 inputs are of this kind.
    documents : sequence of dict
        Good examples.
    is_yaml : bool
        Whether it is YAML, and not JSON.
    read : callable
        Writes bytes to a file and lets posegen read it.
    """

    name: str
    share: int
    documents: Sequence[dict[str, Any]]
    is_yaml: bool
    read: Callable[[bytes], None]


def kinds(folder: Path) -> list[Kind]:
    """Prepare all kinds.

    Parameters
    ----------
    folder : Path
        Empty folder for valid and changed files.
    """
    return [_configs(folder), *_libraries(folder), *_datasets(folder)]


def _configs(folder: Path) -> Kind:
    file = folder / "config.yaml"

    def read(data: bytes) -> None:
        file.write_bytes(data)
        config = load_config(file)
        config.identity(NOTHING)
        json.dumps(config.as_data(), ensure_ascii=False, allow_nan=False).encode()

    files = sorted((Path(posegen.__file__).parents[1] / "configs").glob("*.yaml"))
    whole = load_config("crowd", ["length={min: 50, max: 60}", "story.actions={walk: 2}", "story.themes={office: 2}"])
    return Kind("configs", 40, [whole.as_data(), *filter(None, map(_parsed, files))], True, read)


def _parsed(file: Path) -> Any:
    return yaml.safe_load(file.read_text("utf-8"))


def _libraries(folder: Path) -> list[Kind]:
    base, mine = folder / "base", folder / "mine"
    words = _parsed(LIBRARY / "words/en.yaml")
    # All examples of actions are named wave here, including one for seated actors.
    waves = words["actions"]["wave"] | {"during": ["while seated"]}
    some = words | {"actions": {"stand": words["actions"]["stand"], "wave": waves}}
    # A small library, because it is read each time.
    standing, gestures = _parsed(LIBRARY / "actions/standing.yaml"), _parsed(LIBRARY / "actions/gestures.yaml")
    gaits = _parsed(LIBRARY / "actions/locomotion.yaml")["actions"]
    _put(base / "actions/a.yaml", {"family": "still", "actions": {"stand": standing["actions"]["stand"]}})
    _put(base / "themes.yaml", {"themes": {"hall": {"actions": {"stand": 1.0}}}})
    _put(base / "styles.yaml", _parsed(LIBRARY / "styles.yaml"))
    _put(base / "words/en.yaml", some)
    good = {
        "a.yaml": {"family": "mine", "actions": {"wave": gestures["actions"]["wave"]}},
        "themes.yaml": {"themes": {"yard": {"actions": {"wave": 2.0, "stand": 1}, "weight": 0.5}}},
        "words/en.yaml": {"actions": {"wave": waves}, "joining": words["joining"]},
    }
    actions = [
        {"family": "mine", "actions": {"wave": one}} for one in (standing["actions"] | gestures["actions"] | gaits).values()
    ]
    examples = {"a.yaml": actions, "themes.yaml": [good["themes.yaml"]], "words/en.yaml": [good["words/en.yaml"], some]}
    for name, document in good.items():
        _put(mine / name, document)

    # Accepted libraries must also work: captions are written with all their actions and words.
    config = load_config("smoke", ["frames=60", "variants={speed: null, position: null, scale: null, mirror: false}"])

    def reader(name: str) -> Callable[[bytes], None]:
        def read(data: bytes) -> None:
            (mine / name).write_bytes(data)
            try:
                library = read_library(base, mine)
                digest(library.as_data())
                library_tables(library)
                scenes = plan_scenes(config, library, range(4))
                write_captions(scenes, library, config, find_segments(scenes, library, config.fps))
                if name == "a.yaml" and not xxhash.xxh32_intdigest(data) % 10:  # takes much longer
                    _make_samples(mine, folder / f"taken-{xxhash.xxh3_128_hexdigest(data)}")
            finally:
                _put(mine / name, good[name])

        return read

    shares = {"a.yaml": ("action files", 20), "themes.yaml": ("theme files", 8), "words/en.yaml": ("word files", 12)}
    return [Kind(what, share, examples[name], True, reader(name)) for name, (what, share) in shares.items()]


def _make_samples(mine: Path, place: Path) -> None:
    """Synthesize samples with an accepted library; libraries are cached by path, so each needs its own."""
    shutil.copytree(mine, place, dirs_exist_ok=True)
    batch = synthesize(load_config("smoke", [f"story.library={place}", "story.themes={yard: 1}", "frames=60"]), [0, 1])
    if not np.isfinite(batch.joints).all():
        msg = "joints of samples are not finite"
        raise ArithmeticError(msg)


def _put(file: Path, document: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document), "utf-8")


def _datasets(folder: Path) -> list[Kind]:
    path = folder / "dataset"
    config = load_config("smoke", ["frames=20", "store.shard=2", "store.chunk=2", "variants={mirror: false}"])
    posegen.generate(config, samples=4, workers=1, out=path)
    names = {
        "dataset.json": ("dataset.json files", 8),
        "receipts/00001.json": ("receipts", 7),
        "motion.zarr/joints/zarr.json": ("zarr.json files", 3),
        "motion.zarr/zarr.json": ("zarr.json files of the group", 2),
    }
    return [_of_dataset(path, folder / "fuzzed", name, *arguments) for name, arguments in names.items()]


def _of_dataset(sound: Path, path: Path, name: str, what: str, share: int) -> Kind:
    if not path.exists():
        shutil.copytree(sound, path)
    good = (path / name).read_bytes()
    document = json.loads(good)
    sealed = document.pop("hash", None) is not None
    plain = written_json(document)

    def read(data: bytes) -> None:
        # With a valid seal, so that the content is checked; only every eighth is refused because of its seal.
        reseal = sealed and (data == plain or xxhash.xxh32_intdigest(data) % 8)
        (path / name).write_bytes(_sealed(data) if reseal else data)
        try:
            if not xxhash.xxh32_intdigest(data, seed=1) % 16:  # takes much longer
                list(find_problems(path))
            dataset = open_dataset(path)
            _ = [dataset[index] for index in range(min(len(dataset), 2))]
        finally:
            (path / name).write_bytes(good)

    return Kind(what, share, [document], False, read)


def _sealed(data: bytes) -> bytes:
    body = data.removeprefix(b"{")[:MAX_BYTES]
    return OPENING + xxhash.xxh3_128_hexdigest(body).encode() + b'",' + body

"""Formats of text-to-motion data: a file of features for each clip, texts, lists of names, mean and deviation.

HumanML3D's folder has features, joints and texts with word classes. Its readers (MDM, MoMask, MARDM) take clips of 40 to 199
frames at 20 frames per second, and swallow errors of other clips. The first ``M`` of a name marks the mirrored clip.

Texts have the classes of their words: ``walk/VERB in/ADP a/DET curve/NOUN``. Captions are made of known words: most forms of
verbs come from the library's words, function words, adjectives and adverbs from ``word_classes.yaml``, and all others are
nouns. A form of a verb that follows an article, a possessive, a number or an adjective is a noun ("takes a walk"); forms in
-ing and -ed are always verbs ("a walking person", "to the left, followed by").

`hml272` are the 272 numbers of Xiao et al., MotionStreamer (ICCV 2025): features with SMPL's rotations, 30 frames per second.

========== ======= =============================================================================================
columns    numbers content of frame t; the first 8, and the velocities, are steps from frame t - 1 to frame t
========== ======= =============================================================================================
0:2        2       step of the pelvis along x and z, in the heading of frame t - 1, metres
2:8        6       rotation about y that undoes the heading: the first two rows of its matrix
8:74       66      joints relative to the point of the floor below the pelvis, without the heading, metres
74:140     66      steps of these joints, metres
140:272    132     rotation of each of SMPL's joints relative to its parent, the pelvis without heading: two rows of its matrix
========== ======= =============================================================================================

The heading is that of SMPL's pelvis. The first frame faces +z, its pelvis is above the origin, and the lowest joint is at
height 0. The steps of the first frame are 0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.archives import smpl_rotations
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import ExportFormat, Shard, write_npy
from posegen.exchange.features263 import FPS, GROUPS, WIDTH, features_of
from posegen.exchange.joint_rotations import about_axis, in_parent
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.yaml_files import read_yaml
from posegen.library.load import Library

_DATA: dict[str, Any] = read_yaml(Path(__file__).with_name("word_classes.yaml"))
_LEMMAS: dict[str, str] = _DATA["lemmas"]
_VERBS: dict[str, str] = _DATA["verbs"]
_CLASSES = {word: name for name, words in _DATA.items() if isinstance(words, str) for word in words.split()}
_FORMS = re.compile(r"[a-z'-]+(?:\|[a-z'-]+)+")
_WORDS = re.compile(r"[a-z]+")
_BEFORE_NOUNS = ("DET", "NUM", "ADJ")
_POSSESSIVE = frozenset(("her", "his", "its", "their"))
LISTS = {"training": "train", "validation": "val", "test": "test"}
"""Names of the lists of the clips of each split."""
_LISTS = {name: (split,) for split, name in LISTS.items()}
_FEATURES = "new_joint_vecs"
_TEXTS = 1000
"""Number of captions that are cached with the classes of their words."""
FPS_272, WIDTH_272 = 30, 272
_MOTION_DATA = "motion_data"


def tagged(text: str, verbs: Mapping[str, str]) -> str:
    """Return the words of a text with their classes; nouns and verbs in their base form.

    Parameters
    ----------
    text : str
    verbs : mapping of str to str
        The base form of each form of a verb.

    Examples
    --------
    >>> verbs = {"walks": "walk", "walk": "walk", "takes": "take", "sitting": "sit"}
    >>> tagged("A man walks to the left, then takes a walk.", verbs)
    'a/DET man/NOUN walk/VERB to/ADP the/DET left/ADJ then/ADV take/VERB a/DET walk/NOUN'
    """
    words = _WORDS.findall(text.lower().replace("-", ""))
    found, as_noun = [], False
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "to":
            is_particle = following in verbs and following not in _CLASSES
            base, name = word, "PART" if is_particle else "ADP"
        elif word in verbs and word not in _CLASSES and (word.endswith(("ing", "ed")) or not as_noun):
            base, name = verbs[word], "VERB"
        elif word in _CLASSES:
            base, name = word, _CLASSES[word]
        else:
            base, name = _singular(word), "NOUN"
        found.append(f"{base}/{name}")
        as_noun = name in _BEFORE_NOUNS or word in _POSSESSIVE  # a form of a verb after it is a noun
    return " ".join(found)


@lru_cache(maxsize=4)
def library_verbs(library: Library) -> Mapping[str, str]:
    """Return the base form of each form of a verb in the captions of a library."""
    verbs = [forms.replace("-", "").split("|") for forms in verb_forms(library.words)]
    return _VERBS | {form: verb[-1] for verb in verbs for form in verb}


def verb_forms(words: Any) -> Iterator[str]:
    """Yield each verb of a library's words in its forms, such as ``walks|walking|walked|walk``."""
    if isinstance(words, str):
        yield from _FORMS.findall(words)
    elif isinstance(words, Mapping | list):
        for value in words.values() if isinstance(words, Mapping) else words:
            yield from verb_forms(value)


def _singular(noun: str) -> str:
    if noun in _LEMMAS or len(noun) < 4 or not noun.endswith("s") or noun.endswith(("ss", "is", "us")):
        return _LEMMAS.get(noun, noun)
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("shes", "ches", "xes", "sses")) else noun[:-1]


def write_texts(
    blocks: Iterator[list[Clip]], shard: Shard, width: int, folder: str, encode: Callable[[Clip, Array], Mapping[str, Array]]
) -> dict[str, Any]:
    """Write arrays and texts of clips; return their names by split, and sums of the features and of their squares.

    Parameters
    ----------
    blocks : iterator of list of Clip
    shard : Shard
    width : int
        Columns of the features.
    folder : str
        Folder of the features; mean and deviation are theirs.
    encode : callable
        Returns the arrays of a clip by folder, given the clip and :attr:`~posegen.exchange.export_format.Shard.lengths`.
    """
    verbs = library_verbs(shard.library)

    @lru_cache(_TEXTS)  # variants share texts
    def line(text: str) -> str:
        return f"{text}#{tagged(text, verbs)}#0.0#0.0\n"

    out, made, names = str(shard.folder), set[str](), dict[str, list[str]]()
    frames, sums = 0, np.zeros((2, width))
    for clip in chain.from_iterable(blocks):
        arrays = encode(clip, shard.lengths)
        values = arrays[folder].astype(np.float64)
        sums += values.sum(axis=0), np.einsum("rc,rc->c", values, values)
        frames += len(values)
        if not made:
            made = {*arrays, "texts"}
            for name in made:
                os.makedirs(f"{out}/{name}", exist_ok=True)
        for name, values in arrays.items():
            write_npy(f"{out}/{name}/{clip.name}.npy", values)
        (shard.folder / "texts" / f"{clip.name}.txt").write_bytes("".join(map(line, clip.captions)).encode())
        names.setdefault(clip.split, []).append(clip.name)
    return {"names": names, "frames": frames, "sum": sums[0].tolist(), "squares": sums[1].tolist()}


def write_lists(folder: Path, records: Sequence[Mapping[str, Any]], lists: Mapping[str, Sequence[str]]) -> None:
    """Write lists of names; `lists` are the splits of each, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, splits in lists.items():
        found = (clip for split in splits for record in records for clip in record["names"].get(split, []))
        (folder / f"{name}.txt").write_text("".join(f"{entry}\n" for entry in found), encoding="utf-8")


def write_mean(folder: Path, records: Sequence[Mapping[str, Any]], groups: Sequence[slice] = ()) -> None:
    """Write ``Mean.npy`` and ``Std.npy`` of the features of all clips; columns of one of `groups` share a mean deviation."""
    frames = sum(record["frames"] for record in records)
    mean, squares = (sum(np.array(record[name]) for record in records) / frames for name in ("sum", "squares"))
    deviation = np.sqrt(np.maximum(squares - mean * mean, 0.0))
    for group in groups:
        deviation[group] = deviation[group].mean()
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (("Mean", mean), ("Std", deviation)):
        np.save(folder / f"{name}.npy", values.astype(np.float32))


def _encode_263(clip: Clip, lengths: Array) -> dict[str, Array]:
    features, joints = features_of(clip.joints, lengths)
    return {_FEATURES: features, "new_joints": joints[:-1]}


def finish_humanml3d(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write the lists of names, the mean and the standard deviation of the features of all clips."""
    records = list(parts)
    lists: dict[str, Sequence[str]] = {**_LISTS, "train_val": ("training", "validation"), "all": tuple(LISTS)}
    write_lists(folder, records, lists)
    write_mean(folder, records, GROUPS)


HUMANML3D = ExportFormat(
    "humanml3d",
    "folder of HumanML3D: 263 features, joints, texts with word classes; 20 frames per second",
    partial(write_texts, width=WIDTH, folder=_FEATURES, encode=_encode_263),
    finish_humanml3d,
    fps=FPS,
    most_actors=1,
    frames=(41, 200),
)


def features272_of(joints: Array, world: Array) -> Array:
    """Compute the features of a clip.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, at 30 frames per second.
    world : float64 [22, frame, 3, 3]
        Axes of SMPL's joints in the world; see :func:`posegen.exchange.archives.smpl_rotations`.

    Returns
    -------
    float32 [frame, 272]
    """
    frames = len(joints)
    undo = about_axis(1, -np.arctan2(world[0, :, 0, 2], world[0, :, 2, 2]))
    root = np.einsum("txy,ty->tx", undo[:-1], np.diff(joints[:, 0].astype(np.float64), axis=0))
    around = joints - joints[:, :1] * np.array([1.0, 0.0, 1.0])
    around[..., 1] -= joints[..., 1].min()
    around = np.einsum("txy,tjy->tjx", undo, around)
    local = in_parent(world)
    local[0] = undo @ local[0]
    out = np.zeros((frames, WIDTH_272), np.float32)
    out[1:, :2] = root[:, [0, 2]]
    out[0, [2, 6]] = 1.0
    out[1:, 2:8] = (undo[1:] @ np.swapaxes(undo[:-1], -1, -2))[:, :2].reshape(-1, 6)
    out[:, 8:74] = around.reshape(frames, -1)
    out[1:, 74:140] = np.diff(around, axis=0).reshape(frames - 1, -1)
    out[:, 140:] = np.moveaxis(local[:, :, :2], 0, 1).reshape(frames, -1)
    return out


def joints_of_272(features: Array) -> Array:
    """Recover joints from features [frame, 272], as readers do, from the first 140 columns: float64 [frame, 22, 3], metres."""
    values = features.astype(np.float64)
    back = np.cumsum(np.arctan2(values[:, 4], values[:, 2]))
    undo = about_axis(1, back)
    step = np.stack([values[:, 0], np.zeros(len(values)), values[:, 1]], axis=-1)
    step[1:] = np.einsum("tyx,ty->tx", undo[:-1], step[1:])
    around = np.einsum("tyx,tjy->tjx", undo, values[:, 8:74].reshape(-1, len(JOINTS), 3))
    return np.asarray(around + np.cumsum(step, axis=0)[:, None])


def _encode_272(clip: Clip, lengths: Array) -> dict[str, Array]:
    del lengths  # rotations do not depend on them
    return {_MOTION_DATA: features272_of(clip.joints, smpl_rotations(clip))}


def finish_272(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write the lists of names, the mean and the standard deviation."""
    records = list(parts)
    write_lists(folder / "split", records, _LISTS)
    write_mean(folder / "mean_std", records)


HML272 = ExportFormat(
    "hml272",
    "272 features with SMPL's rotations, texts with word classes; 30 frames per second",
    partial(write_texts, width=WIDTH_272, folder=_MOTION_DATA, encode=_encode_272),
    finish_272,
    fps=FPS_272,
    most_actors=1,
    fields=("rotation",),
)

"""Results of the last stages: an evaluation and an animation, each with a document that states its inputs.

A result is complete if its document is undamaged and its inputs are unchanged. Otherwise it is made again.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import to_jsonable_python

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.read import open_dataset
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError
from posegen.progress import Progress

if TYPE_CHECKING:
    from posegen.training.animation.animate import Animation


MOST_SAMPLES = 1000
"""Samples that are evaluated: enough for stable measures, within about a minute."""


def evaluate_once(dataset: Path, encoder: Path | None, out: Path, progress: Progress) -> tuple[bool, str]:
    """Evaluate a dataset, unless the evaluation is complete.

    Parameters
    ----------
    dataset : Path
    encoder : Path or None
        Run of a retrieval model.
    out : Path
        The document.
    progress : Progress

    Returns
    -------
    was_complete : bool
    summary : str
        The main measures in one line.
    """
    from posegen.evaluation.evaluate import evaluate

    opened = open_dataset(dataset)
    samples = min(MOST_SAMPLES, len(opened))
    inputs = {
        "identity": opened.header.identity,
        "samples": samples,
        "model": None if encoder is None else _model_hash(encoder),
    }
    document = _read(out, progress)
    was_complete = document is not None and document.get("inputs") == inputs
    if document is None or not was_complete:
        result = evaluate(dataset, None, MOST_SAMPLES, progress)
        document = {
            "inputs": inputs,
            "evaluation": to_jsonable_python({"clips": result.clips, "figures": result.measures}, inf_nan_mode="null"),
            "encoder": None if encoder is None else _evaluate_encoder(dataset, encoder, progress),
        }
        write_durably(out, seal(document, indent=2), current_run())
    summary = f"{document['evaluation']['clips']:,} clips evaluated"
    if document["encoder"] is not None:
        ranking = document["encoder"]["precision"]["text_to_motion"]
        summary += f"; R@3 {100 * ranking['recall']['3']:.1f} % in pools of {ranking['pool']}"
    return was_complete, f"{summary}, in {out}"


def _evaluate_encoder(dataset: Path, encoder: Path, progress: Progress) -> dict[str, Any]:
    from posegen.evaluation.distances import encoded_spread
    from posegen.training.inference import encode_dataset

    encoded = encode_dataset(encoder, dataset, MOST_SAMPLES, progress)
    measures = {**asdict(encoded_spread(encoded.motion)), "precision": encoded.precision(), "distance": encoded.distance()}
    document: dict[str, Any] = to_jsonable_python(measures, inf_nan_mode="null")
    return document


def animate_once(run: Path, texts: tuple[str, ...], out: Path, progress: Progress) -> tuple[bool, str]:
    """Animate texts with a trained model, unless the animation is complete.

    Parameters
    ----------
    run : Path
        Run of the task motion.
    texts : tuple of str
        Consecutive texts.
    out : Path
        A .gif; the document beside it has the ending .json.
    progress : Progress

    Returns
    -------
    was_complete : bool
    summary : str
        One line.
    """
    from posegen.training.animation.animate import animate, load_generator, load_text_encoder

    inputs, file = {"model": _model_hash(run), "texts": list(texts)}, out.with_suffix(".json")
    was_complete = out.is_file() and (_read(file, progress) or {}).get("inputs") == inputs
    if not was_complete:
        trained = load_generator(run)
        draw_animation(animate(trained, load_text_encoder(trained), texts), out)
        write_durably(file, seal({"inputs": inputs}), current_run())
    return was_complete, f"{'; '.join(texts)}: {out}"


def draw_animation(animation: Animation, out: Path) -> None:
    """Draw an animation as a .gif, or its poses over time as a .png, with its texts below."""
    from posegen.skeleton import CONTACTS
    from posegen.viewing.clip import make_clip
    from posegen.viewing.render import render_all

    clip = animation.clip
    contacts = np.zeros((len(clip.joints), len(CONTACTS)), np.uint8)
    contacts[:, : clip.contact.shape[1]] = clip.contact
    drawn = make_clip(clip.joints, "\n".join(animation.texts), animation.fps, contacts=contacts, title="animated")
    render_all([drawn], out)


def _model_hash(run: Path) -> str | None:
    """Return the hash of a trained model; None if there is no model."""
    from posegen.training.runs.folder import MODEL, read_document

    document = read_document(run, MODEL)
    return None if document is None else str(document["xxh3"])


def _read(file: Path, progress: Progress) -> dict[str, Any] | None:
    """Read a document; None if it is missing or damaged."""
    if not file.is_file():
        return None
    try:
        return unseal(file.read_bytes(), Origin(str(file), "It is made again"))
    except PosegenError as error:
        progress.log(str(error))
        return None

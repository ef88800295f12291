"""Measure how many real clips generated clips are worth: learning curves with and without them, under equal compute.

For each seed, other persons are held back for the test. Of the clips of the other persons, a share trains: by itself, and
together with the generated clips. Both runs have equally many steps of equally many clips, and the last averaged weights are
tested, so that no clip selects a model. Smaller shares are subsets of larger ones, and have as many classes as they can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from posegen.config.identity import differences
from posegen.dataset.splits import split_groups
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.wording import table
from posegen.training import hardware, loop, run_folder
from posegen.training.data.body_shape import shape_of
from posegen.training.settings import NOT_CONTENT
from posegen.training.setup import Request, Setup, open_setup
from posegen.training.train import restored_torch_settings
from posegen.training.trained_models import evaluate_model

SHARES = (0.01, 0.05, 0.1, 0.25, 1.0)
SEEDS = 3
_QUANTILE = 4.303
"""Of Student's distribution with two degrees of freedom, for 95 %."""
WAYS: dict[str, dict[str, float]] = {"real": {"first": 0.0, "last": 1.0}, "together": {}}
"""Settings of `together` of each way to train."""
_FILE, _PICTURE = "worth.json", "worth.png"
_FEWEST_PERSONS = 3


@dataclass(frozen=True)
class Worth:
    """Learning curves.

    Attributes
    ----------
    measure : str
        Name of what is measured; higher is better.
    clips : list of int
        Mean number of training clips of each share.
    real, together : list of list of float
        Measure of each share and seed.
    by_person : bool
        Whether no person is in training and test.
    """

    measure: str
    clips: list[int]
    real: list[list[float]]
    together: list[list[float]]
    by_person: bool

    def mean(self, way: str) -> Array:
        """Return the mean of each share."""
        return np.asarray(np.mean(getattr(self, way), axis=1))

    def interval(self, way: str) -> Array:
        """Return half the width of the 95 % interval of each mean over the seeds; of ``gain``, of the paired differences."""
        values = np.subtract(self.together, self.real) if way == "gain" else np.array(getattr(self, way))
        return np.asarray(_QUANTILE * values.std(axis=1, ddof=1) / math.sqrt(SEEDS))

    def sentence(self) -> str:
        """Return what the generated clips are worth, by interpolation between the logarithms of the numbers of clips.

        Examples
        --------
        >>> Worth("r3", [1, 10, 100], [[0.2] * 3, [0.4] * 3, [0.6] * 3], [[0.4] * 3, [0.5] * 3, [0.55] * 3], True).sentence()
        'your 100 clips with posegen are as good as 56 without (r3 0.550); the difference at 100 is -0.050 ± 0.000'
        """
        at, real, both = np.log(self.clips), self.mean("real"), self.mean("together")
        most, best, gain = self.clips[-1], both[-1], both[-1] - real[-1]
        if best > real.max():
            reached = _crossing(at, both, real.max())
            worth = (
                f"better than all {most} without ({self.measure} {best:.3f}, {real[-1]:.3f}), and {reached} as good as these"
            )
        else:
            worth = f"as good as {_crossing(at, real, best)} without ({self.measure} {best:.3f})"
        shown = f"the difference at {most} is {gain:+.3f} ± {self.interval('gain')[-1]:.3f}"
        return f"your {most} clips with posegen are {worth}; {shown}"


def _crossing(at: Array, curve: Array, value: float) -> int:
    """Return the number of clips at which a curve over logarithms first reaches a value; it does at its end at the latest."""
    first = int(np.argmax(curve >= value)) if (curve >= value).any() else len(curve) - 1
    if first == 0:
        return round(math.exp(at[0]))
    low, high = curve[first - 1], curve[first]
    part = (value - low) / (high - low) if high > low else 1.0
    return round(math.exp(at[first - 1] + part * (at[first] - at[first - 1])))


def measure_worth(request: Request, progress: Progress) -> Worth:
    """Train and test all models; those of an earlier call in the same folder are kept.

    Parameters
    ----------
    request : Request
        Of a user's clips, with `together.dataset`.
    progress : Progress

    Raises
    ------
    UsageError
        If the clips are too few, or the folder holds another measurement.
    """
    setup, run = open_setup(request), request.run
    if setup.data.generated is None:
        raise UsageError(f"{request.source}: name a dataset of generated clips with --with")
    for note in setup.data.notes:
        progress.log(note)
    with run_folder.run_folder(run), restored_torch_settings():
        content = request.settings.model_dump(mode="json", exclude=NOT_CONTENT)
        document = run_folder.read_document(run, _FILE) or {"of": {"data": setup.data.identity} | content, "results": {}}
        run_folder.refuse_other_run(run, differences(document["of"], {"data": setup.data.identity} | content))
        results: dict[str, dict[str, float]] = document["results"]
        names = [f"{seed} {share:g} {way}" for seed in range(SEEDS) for share in SHARES for way in WAYS]
        for seed in range(SEEDS):
            of_seed = hold_persons_back(setup, seed, progress)
            for name in (name for name in names if name.startswith(f"{seed} ") and name not in results):
                _, share, way = name.split()
                trained = _first(of_seed, float(share))
                title = f"model {len(results) + 1} of {len(names)}, {len(trained)} clips, {way}"
                results[name] = train_and_test(of_seed, trained, WAYS[way], title, progress)
                run_folder.write_document(run, _FILE, document)
    progress.stop()
    measured = {way: [[results[f"{seed} {s:g} {way}"] for seed in range(SEEDS)] for s in SHARES] for way in WAYS}
    clips = [round(float(np.mean([each["trained"] for each in own]))) for own in measured["real"]]
    measure = next(name for name in ("clip_balanced", setup.task.monitor) if name in measured["real"][0][0])
    real, together = ([[each[measure] for each in own] for own in measured[way]] for way in WAYS)
    return Worth(measure, clips, real, together, _knows_persons(setup))


def _knows_persons(setup: Setup) -> bool:
    assert setup.data.clips is not None, "checked by measure_worth"
    return len(set(setup.data.clips.subjects)) >= _FEWEST_PERSONS


def hold_persons_back(setup: Setup, seed: int, progress: Progress) -> Setup:
    """Return the setup of a seed: other persons, or clips where persons are unknown, test the models."""
    data = setup.data
    clips, generated = data.clips, data.generated
    assert clips is not None, "checked by measure_worth"
    assert generated is not None, "checked by measure_worth"
    groups = np.arange(data.samples)
    if _knows_persons(setup):
        groups = np.unique(np.array(clips.subjects), return_inverse=True)[1]
    elif seed == 0:
        progress.log(f"warning: the clips state fewer than {_FEWEST_PERSONS} persons, so a person may be in training and test")
    splits = split_groups(groups, seed, data.categories)
    trained = np.concatenate([splits["training"], splits["validation"]])
    if len(trained) < len(SHARES) or not len(splits["test"]):
        raise UsageError(f"{data.name}: {len(trained)} clips would train and {len(splits['test'])} test a model. Add clips")
    # One clip of each class comes first, then a second one.
    drawn = uniform(seed, trained, Stream.SPLIT, 1, substream=1)[:, 0]
    trained = trained[np.argsort(drawn, kind="stable")]
    words = np.array(clips.words)[trained]
    rank = np.array([(words[:i] == word).sum() for i, word in enumerate(words)])
    trained = trained[np.argsort(rank, kind="stable")]
    fewest = trained[: _count(len(trained), SHARES[0])].tolist()
    shape = None if generated.shape is None else shape_of([clips.joints[i] for i in fewest])
    settings = setup.settings.model_copy(update={"seed": setup.settings.seed + seed})
    generated = replace(generated, shape=shape, settings=settings)
    chosen = {"training": trained, "validation": splits["test"], "test": splits["test"]}
    return replace(setup, settings=settings, data=replace(data, generated=generated, chosen=chosen))


def _first(setup: Setup, share: float) -> Array:
    assert setup.data.chosen is not None, "see hold_persons_back"
    return setup.data.chosen["training"][: _count(len(setup.data.chosen["training"]), share)]


def _count(clips: int, share: float) -> int:
    return max(1, round(share * clips))


def train_and_test(
    setup: Setup, trained: Array, changes: Mapping[str, float], title: str, progress: Progress
) -> dict[str, float]:
    """Return the measures on the test split of a model, and the number of real clips it was trained on.

    Parameters
    ----------
    setup : Setup
        With generated clips and a `chosen` test split.
    trained : int64 [n]
        Real clips to train on.
    changes : mapping of str to float
        Settings of `together` to change, such as those of :data:`WAYS`.
    title : str
        For the display of progress.
    progress : Progress
    """
    data, task = setup.data, setup.task
    assert data.chosen is not None, "see hold_persons_back"
    assert data.generated is not None, "checked by measure_worth"
    changed = setup.settings.together.model_copy(update=dict(changes))
    settings = setup.settings.model_copy(update={"together": changed})
    generated = replace(data.generated, settings=settings)
    data = replace(data, chosen={**data.chosen, "training": trained}, generated=generated)
    data.prepare(task.recipes, lambda done, total: progress.log(f"features: {done:,} of {total:,} shards"))
    setup = replace(setup, settings=settings, data=data)
    choices, _ = hardware.choose_for_run(setup)
    torch.set_num_threads(choices.threads)
    session = loop.TrainingSession(Path(), setup, 0, settings.steps, choices)
    learner = loop.make_learner(session, None)
    progress.start(title, settings.steps, unit="steps")

    def after_step(loss: float, rate: float, accuracy: float | None) -> bool:
        progress.update(learner.progress.step, f"loss {loss:.3f}")
        return False

    loop.run_steps(session, learner, loop.StepTimer(), progress.log, after_step)
    learner.model.load_state_dict(learner.average)
    tally = evaluate_model(task, learner.model, data.source(task.recipes, "test"), None)
    return {**tally.measures(), "trained": float(len(trained))}


def report(worth: Worth) -> str:
    """Return the curves as a table, and the sentence."""
    rows = []
    for i, clips in enumerate(worth.clips):
        cells = [f"{worth.mean(way)[i]:.3f} ± {worth.interval(way)[i]:.3f}" for way in WAYS]
        gain = worth.mean("together")[i] - worth.mean("real")[i]
        rows.append((f"{clips}", *cells, f"{gain:+.3f} ± {worth.interval('gain')[i]:.3f}"))
    title = f"{worth.measure}, mean and 95 % interval of {SEEDS} seeds:"
    return f"{table(('clips', 'real only', 'with generated', 'gain'), rows, title)}\n{worth.sentence()}"


def draw_curves(worth: Worth, folder: Path, note: Callable[[str], object]) -> None:
    """Draw the curves as a picture in a folder; note it if the extra view is missing."""
    try:
        require_extra("view")
    except UsageError as error:
        note(f"no picture: {error}")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for way, label in (("real", "real only"), ("together", "with generated")):
        axes.errorbar(worth.clips, worth.mean(way), worth.interval(way), marker="o", capsize=3, label=label)
    axes.set(xscale="log", xlabel="real clips", ylabel=worth.measure)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(folder / _PICTURE, dpi=110)

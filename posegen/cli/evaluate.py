"""``posegen evaluate``: measure plausibility of motion, truth of captions, distance to mocap, and motion of trained models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import PATH, WHOLE, Number, Output, command, table
from posegen.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posegen.evaluation.captions import StatementCounts, Variety
    from posegen.evaluation.distances import EncodedSpread
    from posegen.evaluation.evaluate import Evaluation
    from posegen.evaluation.gait import Curve, Run, Walk
    from posegen.evaluation.people import People
    from posegen.evaluation.realism import Realism, Reference
    from posegen.evaluation.variety import Variety as MotionVariety
    from posegen.progress import Progress
    from posegen.training.animation.animate import MotionClip
    from posegen.training.measures import Ranking


_WORST_SHOWN = 3
_PUBLISHED = ("", "mean", "published")
_VARIETY = {
    "apart": ("Distance of performances, cm", ("people", "pairs", "between", "within")),
    "coverage": ("Windows of 1 s near others", ("windows", "precision", "recall", "density", "coverage")),
    "": ("Poses, cm; jerk, m/s^3", ("asymmetry", "components", "jerk")),
}
_LARGE = 10
_POSES = {
    "neutral": "frames near one standing pose",
    "commonest": "frames near one of the set's five commonest poses",
    "transitions": "transitions",
    "through_neutral": "transitions near the standing pose",
}


@command(
    "posegen evaluate data/default-0",
    "posegen evaluate data/default-0 --samples 200 --json",
    "posegen evaluate HumanML3D/new_joints --reference mocap.npz",
)
@click.argument("dataset", type=PATH, metavar="PATH")
@click.option("--reference", type=PATH, metavar="PATH", help="Mocap to compare with: a dataset, or files of clips.")
@click.option("--encoder", "run", type=PATH, metavar="RUN", help="Run of a retrieval model to also measure with.")
@click.option("--animated", "model", type=PATH, metavar="RUN", help="Run of a motion model to evaluate instead of the dataset.")
@click.option("--samples", type=WHOLE, metavar="N", help="Evaluate only the first N samples or clips.  [default: all]")
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second of clips.  [default: those of the file]")
@click.option("--names", type=PATH, metavar="YAML", help="Names of the joints of clips.  [default: worked out]")
@click.option("--figure", type=PATH, metavar="FILE.png", help="Also draw the main measures.")
@click.option("--all", "everything", is_flag=True, help="Print all measures, not only the verdict.")
def evaluate(
    dataset: Path,
    reference: Path | None,
    run: Path | None,
    model: Path | None,
    samples: int | None,
    fps: float | None,
    names: Path | None,
    figure: Path | None,
    everything: bool,
    output: Output,
) -> None:
    """Measure the motion at PATH by its joints: feet, joint ranges, flight, balance, gait.

    The verdict is printed first: each main measure with its target. --all and --json print all measures.

    PATH is a dataset, or a file or folder of clips in a format that `posegen import` reads or `posegen export` writes. Clips
    are measured by their joints alone; those that cannot be read are listed.

    In a dataset, the statements of captions (sides, counts, directions, speeds, order) are checked against the joints. The
    diversity of captions and scenes is reported with the published values of HumanML3D.

    --reference also measures the distance to mocap, with the same measures of the reference split by subject, and of the
    reference with joints shifted by 5 mm. An .npz file has the arrays joints [frames, 22, 3] in metres with y up, offsets
    [clips + 1], subjects [clips], fps and, if known, classes [clips]. What is detected in each other file is printed.

    --encoder also measures with a model of `posegen train --task retrieval`: R-precision in pools of 32, diversity, and with
    --reference the Fréchet distance (FID).

    --animated with --encoder evaluates a model of `posegen train --task motion` instead: motion generated for captions of the
    test split, with the real motion as reference.
    """
    if model is not None:
        if run is None or reference or figure:
            raise UsageError("--animated requires --encoder RUN, a retrieval model, and excludes --reference and --figure")
        measures = measure_animation(model, dataset, run, samples, output.note)
        output.result({"path": dataset, "run": model, "encoder": run} | asdict(measures), measures.text(model))
        return
    from posegen.mocap.sources import holds_clips

    if holds_clips(dataset):
        if run is not None or figure is not None:
            raise UsageError(f"--encoder and --figure need a dataset, and {dataset} holds clips; leave them out")
        measure_clips(dataset, reference, samples, fps, names, output, everything=everything)
        return
    if fps is not None or names is not None:
        raise UsageError("--fps and --names belong to clips, not to a dataset; leave them out")
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.captions import HUMANML3D
    from posegen.evaluation.chart import draw_chart
    from posegen.evaluation.evaluate import evaluate as measured
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.verdict import judge

    if figure is not None:
        from posegen.viewing.render import check_path

        check_path(figure, (".png",))
    mocap = reference_at(reference, float(open_dataset(dataset).header.fps), output.note) if reference else None
    found = measured(dataset, mocap, samples, output.progress())
    by_encoder = measure_by_encoder(run, dataset, reference, samples, output.progress()) if run else None
    if figure is not None:
        draw_chart(found, figure)
    document = asdict(found) | {
        "walks": [asdict(w) | {"ratio_error": w.ratio_error, "stance_error": w.stance_error} for w in found.walks],
        "meanings": MEASURES,
        "published": HUMANML3D,
        "path": dataset,
        "reference_path": reference,
        "encoder": by_encoder and by_encoder.document(),
        "verdict": judge(found),
    }
    head = f"{dataset}: {found.samples:,} samples, {found.clips:,} clips"
    sections = [head, _verdict(found), *([by_encoder.text()] if by_encoder else [])]
    sections += _sections(found) if everything else [_MORE]
    output.result(document, "\n\n".join(sections))


_MORE = "--all prints all measures and the worst clips; docs/measures.md defines them."
_OUTCOMES = {True: "pass", False: "fail", None: "none"}


def _verdict(found: Evaluation) -> str:
    from posegen.evaluation.verdict import judge

    findings = judge(found)
    rows = [(one.name, one.value, one.target, _OUTCOMES[one.passes]) for one in findings]
    failed = sum(one.passes is False for one in findings)
    title = f"Verdict: {failed} of {len(findings)} targets missed" if failed else f"Verdict: all {len(findings)} targets met"
    return table(("", "measured", "target", "result"), rows, title)


_REFUSED_SHOWN = 20


def measure_clips(
    path: Path,
    reference: Path | None,
    most: int | None,
    fps: float | None,
    names: Path | None,
    output: Output,
    *,
    everything: bool = False,
) -> None:
    """Measure a file or folder of clips, and print the result.

    Raises
    ------
    UsageError
        If no clip can be read.
    """
    from posegen.evaluation.evaluate import evaluate_clips
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.verdict import judge
    from posegen.mocap.recordings import read_recordings

    if most is not None and most < 1:
        raise UsageError(f"--samples must be at least 1 (got {most})")
    refused: list[str] = []
    clips = read_recordings(path, fps=fps, names=names, log=output.note, refuse=refused.append)
    mocap = reference_at(reference, None, output.note) if reference else None
    found = evaluate_clips(islice(clips, most), str(path), mocap)
    shown = [f"refused: {reason}" for reason in refused[:_REFUSED_SHOWN]]
    if found.clips == 0:
        raise UsageError("\n".join([f"{path}: none of the clips can be read", *shown]))
    if len(refused) > len(shown):
        shown.append(f"and {len(refused) - len(shown):,} more are refused")
    sections = [f"{path}: {found.clips:,} clips", _verdict(found)]
    if everything:
        sections += [*_measures(found), *(_realism(found.realism) if found.realism else ())]
    else:
        sections.append(_MORE)
    document = {"path": path, "reference_path": reference, "clips": found.clips, "refused": refused}
    measures = {"measures": found.measures, "meanings": MEASURES, "reference": found.reference, "realism": found.realism}
    measures |= {"verdict": judge(found)}
    output.result(document | measures, "\n\n".join([*sections, *(["\n".join(shown)] if shown else [])]))


def _sections(found: Evaluation) -> Iterator[str]:
    yield from _measures(found)
    yield from _walks(found.walks)
    yield from _curves(found.curves)
    yield _runs(found.runs)
    yield _statements(found.statements)
    yield from _people(found.people)
    yield _variety(found.samples, found.variety)
    if found.uncaptioned:
        u = found.uncaptioned
        yield f"Clips with an action of .4 s or longer that no segment covers: {u.any_part:.1%} (of the legs: {u.legs:.1%})"
    if found.realism:
        yield from _realism(found.realism)


def _measures(found: Evaluation) -> Iterator[str]:
    """Yield the plausibility measures, their definitions, and the worst clips."""
    from posegen.evaluation.plausibility import MEASURES

    rows = []
    for name, spread in found.measures.items():
        rows.append([name, f"{spread.clips:,}", f"{spread.median:.4g}", f"{spread.high:.4g}", f"{spread.worst:.4g}"])
        if found.reference:
            rows[-1] += [f"{found.reference[name].median:.4g}", f"{found.reference[name].high:.4g}"]
    columns = ["", "clips", "median", "95 %", "worst 1 %", *(["reference", "95 %"] if found.reference else [])]
    yield table(columns, rows)
    yield "\n".join(f"  {name:<18} {meaning}" for name, meaning in MEASURES.items())
    lines = ["Worst clips:"]
    for name, spread in found.measures.items():
        worst = ", ".join(f"{clip} ({value:.3g})" for clip, value in spread.worst_clips[:_WORST_SHOWN])
        lines.append(f"  {name:<18} {worst or 'none'}")
    yield "\n".join(lines)


def _walks(walks: Sequence[Walk]) -> Iterator[str]:
    from posegen.evaluation.verdict import LAWFUL_SPEEDS

    low, high = LAWFUL_SPEEDS
    lawful = [walk for walk in walks if low <= walk.speed <= high]
    head = f"Steady straight walking: {len(walks):,} intervals, {len(lawful):,} at {low} to {high} m/s"
    yield table(_PUBLISHED, _walk_rows(lawful), head) if lawful else head


def _walk_rows(walks: Sequence[Walk]) -> Iterator[tuple[str, str, str]]:
    from posegen.evaluation.gait import mass_excursion

    speed = mean(walk.speed for walk in walks)
    yield "speed, m/s", f"{speed:.2f}", ""
    yield "cadence, steps/min", f"{mean(walk.cadence for walk in walks):.0f}", ""
    yield "step, m", f"{mean(walk.step for walk in walks):.3f}", ""
    yield "stance by positions (biased by +4), % of the cycle", f"{mean(walk.stance for walk in walks):.1f}", ""
    within = mean(abs(walk.ratio_error) <= 0.05 for walk in walks)
    ratio = f"{100 * mean(walk.ratio_error for walk in walks):+.1f} % ({within:.0%} within 5 %)"
    yield "walk ratio, error at a leg length of .9 m", ratio, ".0065 m/(step/min)"
    errors = [walk.stance_error for walk in walks if walk.stance_error is not None]
    if errors:
        close = mean(abs(error) <= 2 for error in errors)
        yield "stance by labels, error in points", f"{mean(errors):+.1f} ({close:.0%} within 2)", "64.2 - 3.5 v"
        both = mean(walk.double_support for walk in walks if walk.double_support is not None)
        yield "double support, % of the cycle", f"{both:.1f}", ""
    whole = [walk for walk in walks if walk.rise == walk.rise]  # NaN without a whole stride
    for kind in ("rise", "sway") if whole else ():
        middle, spread = mass_excursion(kind, mean(walk.speed for walk in whole))
        band = f"{100 * (middle - spread):.1f} to {100 * (middle + spread):.1f}"
        found = mean(getattr(walk, kind) for walk in whole)
        yield f"the centre of mass {kind}s per stride, cm", f"{100 * found:.1f}", band


def _curves(curves: Sequence[Curve]) -> Iterator[str]:
    rows = [
        (
            curve.angle.replace("_", " "),
            curve.speed,
            f"{curve.farthest:.2f}",
            f"{100 * (curve.at or 0):.0f} %",
            f"{curve.cycles:,}",
        )
        for curve in curves
        if curve.farthest is not None
    ]
    if rows:
        columns = "angle", "speed", "standard deviations", "at", "cycles"
        yield table(columns, rows, "Largest deviation of mean leg curves from the published ones")


def _runs(runs: Sequence[Run]) -> str:
    if not runs:
        return "Steady straight running: none"
    rows = [
        ("speed, m/s", f"{mean(run.speed for run in runs):.2f}", ""),
        ("cadence, steps/min", f"{mean(run.cadence for run in runs):.0f}", ""),
        ("contact, ms", f"{1000 * mean(run.contact for run in runs):.0f}", "280 at 3.0 m/s, 209 at 4.5, 168 at 6.0"),
        ("flight, ms", f"{1000 * mean(run.flight for run in runs):.0f}", "98 at 3.0 m/s, 143 at 4.5, 139 at 6.0"),
        ("the centre of mass rises, cm", f"{100 * mean(run.rise for run in runs):.1f}", "6.5 to 13.1"),
    ]
    return table(_PUBLISHED, rows, f"Steady straight running: {len(runs):,} intervals")


def _statements(kinds: dict[str, StatementCounts] | None) -> str:
    if kinds is None:
        return "Captions: not checked, because the dataset has no joints or another library than the one posegen finds now"
    rows = [(kind, f"{found.true:,}", f"{found.false:,}", f"{found.open:,}") for kind, found in kinds.items()]
    wrong = [f"{kind}, false: {'; '.join(found.wrong[:_WORST_SHOWN])}" for kind, found in kinds.items() if found.wrong]
    return "\n".join([table(("", "true", "false", "open"), rows, "Caption statements by the joints"), *wrong])


def _people(people: People) -> Iterator[str]:
    if people.depths:
        rows = [
            (f"{number} people", f"{d.clips:,}", f"{d.frames:,}", f"{d.high:.3f}", f"{d.deepest:.3f}", f"{d.beyond:,}", d.where)
            for number, d in people.depths.items()
        ]
        yield table(("", "clips", "frames", "99 %", "deepest", "over 2 cm", ""), rows, "Interpenetration, metres")
    if people.hands:
        contacts = [
            (action, f"{h.stated:,}", f"{h.met:,}", f"{h.middle:.3f}", f"{h.farthest:.3f}", f"{h.fewest}")
            for action, h in people.hands.items()
        ]
        yield table(("", "stated", "met", "median", "largest", "fewest frames"), contacts, "Hand contacts, by the wrists")


def _variety(samples: int, variety: Variety | None) -> str:
    from posegen.evaluation.captions import HUMANML3D

    if variety is None:
        return "Captions: none"
    v, published = variety, HUMANML3D
    about = "" if v.exact else "about "
    rows = [
        ("motions, without variants", f"{samples:,}", f"{published['motions']:,}"),
        ("captions", f"{v.captions:,}", f"{published['captions']:,}"),
        ("different captions", f"{about}{v.unique:,}", "-"),
        ("different words", f"{about}{v.vocabulary:,}", f"{published['vocabulary']:,}"),
        ("words per caption, mean", f"{v.mean_length:.1f}", f"{published['mean_length']:.0f}"),
        ("words per caption, 5 to 95 %", f"{v.shortest:.0f} to {v.longest:.0f}", "-"),
        ("distinct 1-, 2-, 3-grams", ", ".join(f"{share:.2g}" for share in v.distinct), "-"),
        ("actions, and their entropy", f"{v.actions}, {v.action_entropy:.2f} bits", "-"),
        ("transitions, and their entropy", f"{v.transitions:,}, {v.transition_entropy:.2f} bits", "-"),
    ]
    found = table(("", "here", published["name"]), rows, "Diversity of captions and scenes")
    return f"{found}\n{published['name']}: {published['source']}"


def _realism(realism: Realism) -> Iterator[str]:
    """Yield the distance to the reference, with the controls."""
    columns = [realism.dataset, realism.split, realism.spoiled]
    rows = [
        [name, *(f"{getattr(column, key):.4g}" if column else "-" for column in columns), same]
        for name, key, same in (
            ("FID_k", "fid_kinetic", "0"),
            ("FID_g", "fid_geometric", "0"),
            ("NPSS", "npss", "0"),
            ("windows, reference", "windows", ""),
            ("windows", "others", ""),
        )
    ]
    for name in realism.dataset.inside:
        shares = (f"{column.inside[name]:.2f}" if column else "-" for column in columns)
        rows.append([f"{name}, inside the 5 to 95 % band", *shares, ".9"])
    yield table(("", "dataset", "by subject", "5 mm off", "same"), rows, "Realism, windows of 1.6 s")
    yield from _motion_variety(realism.variety)


def _motion_variety(found: MotionVariety) -> Iterator[str]:
    """Yield the variety of motion, each figure as generated | reference."""
    sides = [asdict(side) for side in (found.generated, found.reference)]

    def both(name: str, figures: Sequence[dict[str, Any]]) -> str:
        values = (side.get(name) for side in figures)
        return " | ".join("-" if v is None or v != v else _shown(v) for v in values)

    families = {family: [side["families"][family] for side in sides] for family in found.generated.families}
    for part, (title, names) in _VARIETY.items() if families else ():
        rows = []
        for family, of_it in (families | {"pooled": sides}).items():
            figures = [both(name, [side.get(part) or {} if part else side for side in of_it]) for name in names]
            rows += [(family, *figures)] if set(figures) != {"- | -"} else []
        if rows:
            yield f"{title} (generated | reference)\n\n{table(('family', *names), rows)}"
    poses = [(name, both(key, sides)) for key, name in _POSES.items()]
    yield table(("", "generated | reference"), poses, "Poses of all clips, near: within 6 cm")


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.{1 if value >= _LARGE else 2}f}"


_RANKS = (1, 2, 3)
_WAYS = {"text_to_motion": "caption to motion", "motion_to_text": "motion to caption"}


@dataclass(frozen=True)
class EncoderMeasures:
    """Measures of a dataset by a trained encoder.

    Attributes
    ----------
    run : Path
        Folder of the training run.
    spread : EncodedSpread
    precision : dict of str to Ranking
    distance : float
        Mean distance of a motion to its captions.
    """

    run: Path
    spread: EncodedSpread
    precision: dict[str, Ranking]
    distance: float

    def document(self) -> dict[str, Any]:
        """Return the measures as one group."""
        return {"run": self.run, **asdict(self.spread), "precision": self.precision, "distance": self.distance}

    def text(self) -> str:
        """Return the measures as text."""
        spread, pool = self.spread, self.precision["text_to_motion"].pool
        shares = {label: self.precision[way].recall for way, label in _WAYS.items()}
        shares["chance"] = self.precision["text_to_motion"].chance
        ranks = [rank for rank in _RANKS if rank <= pool]
        rows = [(label, *(f"{100 * share[rank]:.1f} %" for rank in ranks)) for label, share in shares.items()]
        lines = [
            f"Encoder {self.run}, {spread.clips:,} clips (first variant of each sample):",
            table((f"R-precision, pool of {pool}", *(f"top {rank}" for rank in ranks)), rows),
            f"distance of a motion to its captions {self.distance:.3f}; between two motions {spread.diversity:.3f}",
        ]
        if spread.halves is not None:
            lines.append(f"Fréchet distance between two halves of the clips {spread.halves:.4f}")
        if spread.frechet is not None:
            other = f"{spread.reference_clips:,} intervals, mean distance {spread.reference_diversity:.3f}"
            lines.append(f"Fréchet distance to the reference {spread.frechet:.4f} ({other})")
        return "\n".join(lines)


def measure_by_encoder(
    run: Path, dataset: Path, reference: Path | None, samples: int | None, progress: Progress
) -> EncoderMeasures:
    """Encode a dataset and an optional reference, and measure the vectors.

    Raises
    ------
    UsageError
        If the model, or data that it needs, is missing.
    """
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.distances import encoded_spread
    from posegen.training.trained_models import encode_clips, encode_dataset

    encoded = encode_dataset(run, dataset, samples, progress)
    other = None
    if reference is not None:
        mocap = reference_at(reference, float(open_dataset(dataset).header.fps), lambda text: None)
        other = encode_clips(run, ((clip.joints, clip.fps) for clip in mocap.recordings), mocap.name)
    return EncoderMeasures(run, encoded_spread(encoded.motion, other), encoded.precision(), encoded.distance())


_PRECISE = 3
_ACTIONS = ("no action", "one action", "two actions", "three actions", "four actions or more")
_MEASURED = 150
"""Maximum number of clips whose plausibility is measured."""
_SHOWN = ("skate, strict", "skate, GMD", "penetration", "bone length", "limits", "overlap", "jerk")


@dataclass(frozen=True)
class Side:
    """How well a set of motions matches captions, and how plausible it is.

    Attributes
    ----------
    frechet : float
        Fréchet distance to the real set; for the real set, between its two halves.
    precision : float
        Share of the motions whose caption ranks among the first three of 32.
    precision_by_actions : dict of str to float
        The same for captions with one action, two actions and so on, in the same pools.
    diversity : float
        Mean distance between two motions.
    figures : dict of str to float
        Means over the clips for which they are defined; see :data:`posegen.evaluation.plausibility.MEASURES`. Empty for the
        mean motion.
    """

    frechet: float
    precision: float
    precision_by_actions: dict[str, float]
    diversity: float
    figures: dict[str, float]


@dataclass(frozen=True)
class AnimationMeasures:
    """Evaluation of the motion that a model generates for captions, with the real motion and the mean motion as controls.

    Attributes
    ----------
    clips : int
    made, real, mean : Side
    chance : float
        Precision of a random ranking.
    multimodality : float
        Mean distance between two motions generated for the same caption.
    """

    clips: int
    made: Side
    real: Side
    mean: Side
    chance: float
    multimodality: float

    def text(self, run: Path) -> str:
        """Return the measures of the model of a run as text."""
        sides = self.made, self.real, self.mean
        rows = [
            ("Fréchet distance to the real", *(f"{side.frechet:.4f}" for side in sides)),
            ("R-precision, top 3 of 32", *(f"{100 * side.precision:.1f} %" for side in sides)),
        ]
        for count in self.made.precision_by_actions:
            rows.append((f"captions with {count}", *(f"{100 * side.precision_by_actions[count]:.1f} %" for side in sides)))
        rows.append(("distance of two motions", *(f"{side.diversity:.3f}" for side in sides)))
        rows += [(name, *(f"{side.figures[name]:.4g}" for side in (self.made, self.real)), "") for name in _SHOWN]
        title = f"Motion of {run} for {self.clips:,} captions of the test split, one per sample"
        return "\n".join(
            [
                table(("", "generated", "real", "mean pose"), rows, title),
                "The Fréchet distance of the real motion is between its two halves.",
                f"R-precision by chance {100 * self.chance:.1f} %; "
                f"distance of two motions for one caption {self.multimodality:.3f}",
            ]
        )


def measure_animation(
    run: Path, dataset: Path, judge: Path, samples: int | None, log: Callable[[str], None], **how: Any
) -> AnimationMeasures:
    """Generate motion for captions with a model and measure it.

    Raises
    ------
    UsageError
        If the runs do not match the dataset.
    """
    import numpy as np

    from posegen.evaluation.distances import diversity, encoded_spread
    from posegen.training.animation.animate import generate_for_test_captions
    from posegen.training.measures import chance_of, pools, ranks_of
    from posegen.training.trained_models import PRECISION_POOL

    made = generate_for_test_captions(run, dataset, judge, log, samples=samples, **how)
    chosen = pools(0, len(made.real), PRECISION_POOL)
    same = [made.words[pool][:, None] == made.words[pool] for pool in chosen]
    actions = np.minimum(made.actions[np.concatenate(chosen)], len(_ACTIONS) - 1)

    def side(vectors: NDArray[Any], figures: dict[str, float], reference: NDArray[Any] | None) -> Side:
        scores = (vectors[pool] @ made.text[pool].T for pool in chosen)
        precise = np.concatenate([ranks_of(*pair) for pair in zip(scores, same, strict=True)]) <= _PRECISE
        by_actions = {_ACTIONS[count]: float(precise[actions == count].mean()) for count in np.unique(actions).tolist()}
        spread = encoded_spread(vectors, reference)
        frechet = spread.halves if reference is None else spread.frechet
        return Side(float(frechet or 0.0), float(precise.mean()), by_actions, spread.diversity, figures)

    log("measuring plausibility")
    right = np.concatenate([pool.sum(axis=1) for pool in same])
    return AnimationMeasures(
        clips=len(made.real),
        made=side(made.generated_vectors, _figures(made.generated, made.fps), made.real_vectors),
        real=side(made.real_vectors, _figures(made.real, made.fps), None),
        mean=side(made.mean_vectors, {}, made.real_vectors),
        chance=float(chance_of(right, len(chosen[0]), _PRECISE).mean()),
        multimodality=float(np.mean([diversity(turns) for turns in made.repeated])),
    )


def _figures(scenes: list[tuple[MotionClip, ...]], fps: float) -> dict[str, float]:
    import numpy as np

    from posegen.evaluation.plausibility import MEASURES, measure_clip
    from posegen.evaluation.recording import Recording

    found = [
        measure_clip(Recording("", "", figure.joints.astype(np.float64), fps, figure.contact.astype(np.uint8)))
        for figures in scenes[:_MEASURED]
        for figure in figures
    ]
    columns = {name: np.array([clip[name] for clip in found]) for name in MEASURES}
    return {name: float(np.nanmean(values)) for name, values in columns.items() if np.isfinite(values).any()}


def reference_at(path: Path, fps: float | None, log: Callable[[str], None]) -> Reference:
    """Open the mocap at a path.

    Parameters
    ----------
    path : Path
    fps : float, optional
        Frame rate to which files of clips are resampled; an .npz file and a dataset must have it. By default, rates stay.
    log : callable
        Called with what was worked out of each file of clips.

    Raises
    ------
    UsageError
        If the clips cannot be read; raised while reading them.
    """
    from posegen.evaluation.realism import Reference
    from posegen.evaluation.recording import read_reference
    from posegen.mocap.recordings import read_recordings

    if path.suffix.lower() == ".npz" or (path / "dataset.json").exists():
        return Reference(str(path), read_reference(path))
    return Reference(str(path), read_recordings(path, target_fps=fps, floor_within=0.0, log=log))

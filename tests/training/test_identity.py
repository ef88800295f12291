"""The task identity: splits, groups and partners of identities, and runs on a tiny dataset."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from posegen.dataset.batches import make_batches  # noqa: E402
from posegen.dataset.read import open_dataset  # noqa: E402
from posegen.dataset.splits import SPLITS, in_split  # noqa: E402
from posegen.foundations.errors import UsageError  # noqa: E402
from posegen.training.data.features import View  # noqa: E402
from posegen.training.data.feed import batches_of, to_clips  # noqa: E402
from posegen.training.data.identities import ALIKE, OTHER, SAME, SIZES, partners_of  # noqa: E402
from posegen.training.data.sources import SampleArrays  # noqa: E402
from posegen.training.settings import load_settings  # noqa: E402
from posegen.training.setup import TrainingData, open_training_data  # noqa: E402
from posegen.training.tasks.identity import TASK, supervised  # noqa: E402
from posegen.training.verification import ScoredPairs, true_accept_rate, verification_rates  # noqa: E402
from tests.running import Programs  # noqa: E402
from tests.training import tiny  # noqa: E402

pytestmark = pytest.mark.slow

PERSONS, SAMPLES = 60, 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_once(tmp_path_factory, "identity", SAMPLES, f"population.persons={PERSONS}").parent


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    return tiny.task_runs(tmp_path_factory, programs, "identity", folder / "dataset")


@pytest.fixture(scope="module")
def material(folder: Path) -> TrainingData:
    settings = tiny.settings()
    found = open_training_data(str(folder / "dataset"), settings.data, 0).with_identities(settings)
    found.prepare(TASK.recipes, lambda done, total: None)
    return found


def persons_of(folder: Path) -> dict[int, int]:
    """Return the person of each sample, from its row."""
    dataset = open_dataset(folder / "dataset")
    return {sample: dataset.rows(sample)[0]["actors"][0]["person"] for sample in range(SAMPLES)}


def test_splits_separate_persons_and_contain_every_clip(folder: Path, material: TrainingData) -> None:
    own = persons_of(folder)
    samples = {split: material.source(TASK.recipes, split).sample_numbers for split in SPLITS}
    persons = {split: {own[sample] for sample in which.tolist()} for split, which in samples.items()}
    for split, there in persons.items():
        assert there == set(in_split(0, sorted(there), split, identities=True).tolist())
    alone = {person for person in own.values() if list(own.values()).count(person) == 1}
    held_out = set(samples["test"].tolist()) | set(samples["validation"].tolist())
    trained = {sample for sample in own if own[sample] in persons["training"]}
    assert trained | held_out | {sample for sample in own if own[sample] in alone} == set(own)


def test_a_batch_has_several_clips_of_each_person_in_any_process(folder: Path, material: TrainingData) -> None:
    own, source = persons_of(folder), material.source(TASK.recipes, "training")
    batches = batches_of(source, 16, 5, None)
    made = [to_clips(batch, source, 5) for batch in batches.at(0, 9)]
    for clips in made:
        persons = clips["person"].tolist()
        assert persons == [own[sample] for sample in clips["sample"].tolist()]
        assert all(persons.count(person) % 4 == 0 for person in persons)
    for number in (7, 3):
        assert (to_clips(batches.batch(number), source, 5)["sample"] == made[number]["sample"]).all()
    shared = {batch.number: batch for rank in range(2) for batch in batches.at(0, 9).share(rank, 2)}
    assert all((to_clips(shared[k], source, 5)["motion"] == made[k]["motion"]).all() for k in range(9))
    assert len({tuple(sorted(clips["sample"].tolist())) for clips in made}) == 9


def test_partners_are_of_the_right_identities() -> None:
    drawn = np.random.default_rng(0)
    person = drawn.integers(0, 12, 70) * 3
    samples = np.sort(drawn.choice(1000, 70, replace=False))
    look = drawn.normal(size=(36, SIZES + 3)).astype(np.float32)
    look[:, -2:] = drawn.integers(0, 2, (36, 2))
    looks = look[person]
    found = partners_of(samples, person, looks, 7)
    whose = dict(zip(samples.tolist(), person.tolist(), strict=True))
    names = sorted(set(person.tolist()))
    near = naive_look_alikes(look[names], 3)
    for row, sample in zip(found, samples.tolist(), strict=True):
        same = [other for other in samples.tolist() if other > sample and whose[other] == whose[sample]]
        assert [other for other in row[SAME].tolist() if other >= 0] == same[:8]
        assert (row[OTHER] >= 0).sum() == 8
        assert all(whose[other] != whose[sample] for other in row[OTHER].tolist())
        alike = {names[place] for place in near[names.index(whose[sample])]}
        assert {whose[other] for other in row[ALIKE].tolist()} <= alike
    assert (partners_of(samples, person, looks, 7) == found).all()
    assert (partners_of(samples, person, looks, 8) != found).any()


def naive_look_alikes(look: np.ndarray, count: int) -> list[list[int]]:
    measured = [[(row[i] - look[:, i].mean()) / look[:, i].std() for i in range(SIZES + 1)] for row in look]

    def apart(one: int, other: int) -> float:
        lengths = sum((a - b) ** 2 for a, b in zip(measured[one], measured[other], strict=True))
        return float(lengths + 4 * sum(a != b for a, b in zip(look[one, -2:], look[other, -2:], strict=True)))

    everybody = range(len(look))
    return [sorted((o for o in everybody if o != one), key=lambda o, one=one: apart(one, o))[:count] for one in everybody]


def test_the_loss_equals_a_naive_loop() -> None:
    vectors = torch.nn.functional.normalize(torch.randn(9, 5, generator=torch.Generator().manual_seed(3)).double(), dim=-1)
    kind, sample = torch.tensor([0, 0, 0, 1, 1, 2, 2, 3, 1]), torch.tensor([0, 0, 1, 2, 3, 4, 4, 5, 6])
    each = []
    for i in range(9):
        others = [j for j in range(9) if sample[j] != sample[i]]
        total = math.log(sum(math.exp(10 * float(vectors[i] @ vectors[j])) for j in others))
        right = [total - 10 * float(vectors[i] @ vectors[j]) for j in others if kind[j] == kind[i]]
        each += [sum(right) / len(right)] if right else []
    assert float(supervised(vectors, kind, sample, 10.0)) == pytest.approx(sum(each) / len(each))


def test_a_single_clip_of_a_person_has_no_effect() -> None:
    vectors = torch.ones(3, 2, requires_grad=True)
    loss = supervised(vectors, torch.tensor([0, 0, 0]), torch.tensor([4, 4, 4]), 10.0)
    loss.backward()
    assert loss.item() == 0
    assert vectors.grad is not None
    assert (vectors.grad == 0).all()


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1, 0.5])
def test_true_accept_rate_is_that_of_the_best_threshold(rate: float) -> None:
    drawn = np.random.default_rng(5)
    right, wrong = drawn.normal(1, 1, 80).round(1), drawn.normal(0, 1, 150).round(1)
    thresholds = [*np.unique(np.concatenate([right, wrong])), np.inf]
    taken = [np.mean(right >= at) for at in thresholds if np.mean(wrong >= at) <= rate]
    assert true_accept_rate(right, wrong, rate) == pytest.approx(max(taken))


def test_measures_equal_loops_over_pairs(material: TrainingData) -> None:
    source = material.source(TASK.recipes, "test")
    tally, seen = TASK.tally(View(1, 1.0, 1, ())), {}
    for batch in make_batches(source, 7, variants=["base"]):
        clips = {name: torch.from_numpy(values) for name, values in to_clips(batch, source).items()}
        said = torch.nn.functional.normalize(clips["motion"][:, 0, :9].float(), dim=-1)
        tally.add(said, clips)
        for place, sample in enumerate(clips["sample"].tolist()):
            seen[sample] = said[place].numpy(), clips["partner"][place].tolist()
    scores: dict[str, list[float]] = {}
    for vector, partner in seen.values():
        for kind, places in (("same", SAME), ("other", OTHER), ("alike", ALIKE)):
            scores.setdefault(kind, []).extend(float(vector @ seen[p][0]) for p in partner[places] if p >= 0)
    found = tally.measures()
    assert {f"{kind}_pairs": len(own) for kind, own in scores.items()}.items() <= found.items()
    for kind, name in (("other", "auc"), ("alike", "alike_auc")):
        wins = [(a > b) + (a == b) / 2 for a in scores["same"] for b in scores[kind]]
        assert found[name] == pytest.approx(np.mean(wins), abs=1e-3)
    assert found["size_auc"] == pytest.approx(1, abs=1e-3)


def test_shuffled_labels_stay_within_the_split(material: TrainingData) -> None:
    settings = load_settings("quick", ["data.shuffle_labels=true"])
    shuffled = replace(material, by_identity=settings).source(TASK.recipes, "test").additions
    plain = material.source(TASK.recipes, "test").additions
    assert isinstance(shuffled, SampleArrays)
    assert isinstance(plain, SampleArrays)
    assert (plain.samples == shuffled.samples).all()
    persons, others = (split.arrays["person"] for split in (plain, shuffled))
    assert sorted(persons) == sorted(others)
    assert (persons != others).mean() > 0.4


def test_training_separates_identities(results: dict[str, Any]) -> None:
    found = results["whole"]["measures"]
    assert found["persons"] > 3
    assert found["auc"] > 0.7
    assert found["equal_error"] < 0.4
    assert 0 <= found["alike_tar"] <= 1


def test_a_killed_and_resumed_run_has_the_same_weights(results: dict[str, Any]) -> None:
    tiny.assert_resumed(results["short"])


def test_predictions_are_vectors_and_the_model_is_exported(results: dict[str, Any]) -> None:
    vectors = np.array(results["vectors"])
    assert vectors.shape == (SAMPLES * 5, 128)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert results["exported"] < 1e-4


def test_by_style_the_size_of_the_body_does_not_matter(results: dict[str, Any]) -> None:
    base, scale = (np.array(results["vectors by style"]).reshape(SAMPLES, 5, -1)[:, i] for i in (0, 3))
    by_body, scaled = (np.array(results["vectors"]).reshape(SAMPLES, 5, -1)[:, i] for i in (0, 3))
    # A larger body covers the same distance, so its steps in leg lengths are slightly shorter.
    assert (base * scale).sum(axis=1).mean() > 0.99 > (by_body * scaled).sum(axis=1).mean() + 0.1
    assert 0 < results["style"]["measures"]["auc"] < 1
    assert "identity.by was 'style' and is 'body'" in results["otherwise"]["error"]


def test_impossible_requests_raise(results: dict[str, Any]) -> None:
    assert results["shuffled"]["steps"] == 2
    assert "Generate a dataset" in results["config"]["error"]
    assert "scale" in results["scaled"]["error"]


def test_training_without_two_clips_of_a_person_raises(tmp_path: Path) -> None:
    settings = tiny.settings()
    path = tiny.make(tmp_path / "dataset", 20, "population.persons=1000000")
    with pytest.raises(UsageError, match=r"population\.persons=100"):
        open_training_data(str(path), settings.data, 0).with_identities(settings).prepare(
            TASK.recipes, lambda done, total: None
        )


def test_the_threshold_holds_its_promise_for_unseen_persons() -> None:
    """Scores with an effect of each person: 95 % intervals contain the rate of other persons in at least 45 of 50 draws."""
    drawn = np.random.default_rng(1)
    held, accepted = 0, []
    for _ in range(50):
        (same, other), (unseen, strangers) = (_scored_pairs(drawn) for _ in range(2))
        rates = verification_rates(same, other, unseen.score, strangers.score, strangers.score)
        rate = next(rate for rate in rates if rate["far"] == 0.01)
        assert (other.score > rate["threshold"]).mean() <= 0.01
        accepted.append(rate["test_far"])
        held += rate["tar_low"] <= rate["test_tar"] <= rate["tar_high"]
    assert held >= 45
    assert np.mean(accepted) == pytest.approx(0.01, abs=0.003)


def _scored_pairs(drawn: np.random.Generator, persons: int = 60) -> tuple[ScoredPairs, ScoredPairs]:
    """Return pairs of one person and of two, whose scores share an effect of the first person."""
    effect = drawn.normal(0, 0.05, persons)
    own = np.repeat(np.arange(persons), 15)
    two = (own + drawn.integers(1, persons, len(own))) % persons
    same = ScoredPairs(0.5 + effect[own] + drawn.normal(0, 0.1, len(own)), np.stack([own, own], axis=1))
    return same, ScoredPairs(drawn.normal(0.1, 0.1, len(own)), np.stack([own, two], axis=1))


def test_rates_that_the_pairs_do_not_determine_are_absent() -> None:
    same, other = _scored_pairs(np.random.default_rng(0))
    few = ScoredPairs(other.score[:60], other.person[:60])
    assert [rate["far"] for rate in verification_rates(same, few, *[same.score] * 3)] == [0.02, 0.05, 0.1]


def test_clips_are_compared_at_the_calibrated_threshold(results: dict[str, Any]) -> None:
    rates = results["rates"]
    assert [rate["far"] for rate in rates] == sorted(rate["far"] for rate in rates)
    assert all(rate["tar_low"] <= rate["tar"] <= rate["tar_high"] for rate in rates)
    # Pairs of clips are reported as those of texts: look-alikes, which are hard, apart from others.
    assert all(0 <= rate[name] <= 1 for rate in rates for name in ("test_far", "test_tar", "hard_far"))
    assert results["similarity"][0] == pytest.approx(1, abs=1e-5)
    assert results["same"]

"""The task text: hard negatives, measures of paraphrases, and runs with a tiny encoder."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from posegen.captions.parser import parse_caption  # noqa: E402
from posegen.dataset.read import Dataset, open_dataset  # noqa: E402
from posegen.embedding import load_encoder  # noqa: E402
from posegen.embedding.models import find_encoder  # noqa: E402
from posegen.embedding.transformer import load_model as load_transformer  # noqa: E402
from posegen.foundations.errors import UsageError  # noqa: E402
from posegen.library.load import load_library  # noqa: E402
from posegen.training.data.captions import (  # noqa: E402  # noqa: E402
    CHANGES,
    FAMILIES,
    STATED_ACTIONS,
    CaptionSampler,
    family_names,
)
from posegen.training.data.feature_cache import cached_array, features_folder, fill_cache  # noqa: E402
from posegen.training.data.features import View  # noqa: E402
from posegen.training.data.negatives import CHANGED, alternatives_of  # noqa: E402
from posegen.training.data.sources import view_of  # noqa: E402
from posegen.training.data.tokens import caption_tokens, numbers_of  # noqa: E402
from posegen.training.models.encoder import add_adapters, set_checkpointing, trainable_weights  # noqa: E402
from posegen.training.settings import Model, load_settings  # noqa: E402
from posegen.training.setup import Request, open_setup  # noqa: E402
from posegen.training.tasks.text import (  # noqa: E402
    TASK,
    TextModel,
    recall_among_hard_negatives,
    recall_in_pools,
)
from tests.embedding import tiny_encoder  # noqa: E402
from tests.once import own_copy  # noqa: E402
from tests.running import Programs, run_once  # noqa: E402
from tests.training import tiny  # noqa: E402

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SAMPLES = 400  # 49 test clips; with 20, learning was within chance
ACTIONS = {"walk": 60, "jump": 30, "sit": 30, "wave": 30, "turn": 30, "clap": 30}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        rows = _rows(open_dataset(tiny.make(folder / "dataset", SAMPLES, f"story.actions={ACTIONS}")))
        words = {word for row in rows for caption in row["captions"] for word in _words(caption["text"])}
        tiny_encoder.make(folder, sorted(words), longest=64)

    return own_copy(tmp_path_factory, "text", make)


@pytest.fixture(scope="module")
def reported(folder: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    """Results of the runs of :mod:`tests.training.text_runs`."""

    def prepare(place: Path) -> None:
        shutil.copytree(folder, place, dirs_exist_ok=True)

    return run_once(
        tmp_path_factory, programs, "text runs", "tests.training.text_runs", prepare=prepare, POSEGEN_EMBEDDING_CACHE="off"
    )[1]


def _rows(dataset: Dataset) -> list[dict[str, Any]]:
    return [row for sample in range(len(dataset)) for row in dataset.rows(sample)]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


def _claims(text: str) -> Counter[tuple[Any, ...]]:
    """Count the statements that posegen parses from a text, except the order, which also names actions."""
    read = parse_caption(text, load_library())
    return Counter(
        tuple(claim[name] for name in ("actor", "kind", "action", "value"))
        for claim in read.statements
        if claim["kind"] != "order"
    )


def _others(caption: dict[str, Any], row: dict[str, Any], most: int) -> tuple[Any, ...]:
    done = tuple(segment["action"] for actor in row["actors"] for segment in actor["segments"])
    said = tuple((reported["kind"], reported["action"], reported["value"]) for reported in caption["statements"])
    return alternatives_of(caption["text"], said, done, most)


def test_one_statement_is_changed_and_false(folder: Path) -> None:
    kinds: Counter[str] = Counter()
    captions = 0
    for row in _rows(open_dataset(folder / "dataset"))[::4]:
        done = {segment["action"] for segment in row["actors"][0]["segments"]}
        for caption in row["captions"]:
            captions += 1
            for other in _others(caption, row, 4):
                gone, come = _claims(caption["text"]) - _claims(other.text), _claims(other.text) - _claims(caption["text"])
                assert (gone.total(), come.total()) == (1, 1), (caption["text"], other.text)
                (_, was, _, before), (_, kind, action, now) = *gone, *come
                assert was == kind == other.kind
                kinds[kind] += 1
                if kind == "action":
                    assert action not in done
                    continue
                assert before != now
                (segment,) = (own for own in row["actors"][0]["segments"] if own["action"] == action)
                true = {"side": segment["side"], "count": str(segment["repetitions"])}
                assert now != true.get(kind)
                if kind == "direction":
                    assert (segment["turn"] > 0) != (now == "left")
    assert kinds.total() > captions
    assert set(kinds) == set(CHANGED)


def test_statements_that_may_stay_true_are_not_changed() -> None:
    def others(text: str, *said: tuple[str, str, str], done: tuple[str, ...]) -> set[str]:
        return {other.kind for other in alternatives_of(text, said, done, 9)}

    walk, slow = ("action", "walk", ""), ("speed", "walk", "slow")
    assert others("a person walks slowly", walk, slow, done=("walk",)) == {"speed"}
    # Another walk of the scene may be fast.
    assert others("a person walks slowly", walk, slow, done=("walk", "walk")) == set()
    # The phrase occurs twice.
    assert others("a person walks and walks", walk, done=("walk",)) == set()
    assert others("a person sleepwalks", walk, done=("walk",)) == set()
    assert others("a person walks", walk, done=("walk",)) == {"action"}


@pytest.mark.parametrize("most", [8, 64])
def test_recipes_keep_tokens_and_stated_actions(folder: Path, most: int) -> None:
    dataset = open_dataset(folder / "dataset")
    view = view_of(dataset, 4)
    recipes = (caption_tokens(find_encoder(str(folder / "tiny")), most), CHANGES, STATED_ACTIONS, FAMILIES)
    fill_cache(dataset, recipes, view, lambda done, total: None)
    tokens, changes, reported, families = (cached_array(features_folder(dataset), recipe, view, 0) for recipe in recipes)
    tokenizer = load_transformer(folder / "tiny", "cpu").tokenizer
    names, of = family_names(), {action: family for family, own in load_library().families.items() for action in own}
    for sample in range(8):
        for variant, row in enumerate(dataset.rows(sample)):
            place = sample, variant
            done = {segment["action"] for segment in row["actors"][0]["segments"]}
            assert np.count_nonzero(reported[place][0]) == len(done)
            for number, caption in enumerate(row["captions"]):
                others = _others(caption, row, 2)
                texts = [caption["text"], *(other.text for other in others)]
                expected = tokenizer(texts, truncation=True, max_length=most)["input_ids"]
                assert numbers_of(tokens[place][number]) == expected + [[]] * (2 - len(others))
                kinds = [CHANGED[kind] for kind in changes[place][number] if kind >= 0]
                assert kinds == [other.kind for other in others]
                claimed = {said["action"] for said in caption["statements"] if said["kind"] == "action"}
                own = reported[place][1 + number]
                assert np.count_nonzero(own) == len(claimed)
                assert set(own[own > 0].tolist()) <= set(reported[place][0].tolist())
                assert {names[i] for i in np.flatnonzero(families[place][number])} == {of[action] for action in claimed}


def test_a_clip_is_shown_with_two_captions_and_their_hard_negatives() -> None:
    count = 400
    letters = np.zeros((count, 3, 3, 8), np.uint8)
    for clip in range(count):
        for caption in range(1 + clip % 3):
            for other in range(3 - (clip // 3) % 3):
                letters[clip, caption, other] = 1 + caption * 10 + other
    reported = np.arange(4)[None, :, None].repeat(count, 0)
    clips = {"tokens": letters, "stated_actions": reported, "sample": np.arange(count), "variant": np.zeros(count, np.int64)}
    shown = CaptionSampler(None, 1)(clips, 3, 7)
    first, second = ((shown[name][:, 0, 0] - 1) // 10 for name in ("tokens", "other"))
    several = np.arange(count) % 3 > 0
    assert (first != second).tolist() == several.tolist()
    assert {(int(a), int(b)) for a, b in zip(first[2::3], second[2::3], strict=True)} == {
        (a, b) for a in range(3) for b in range(3) if a != b
    }
    assert shown["first_actions"][:, 0].tolist() == (1 + first).tolist()
    assert shown["second_actions"][:, 0].tolist() == (1 + second).tolist()
    known = 2 - (np.arange(count) // 3) % 3
    both = CaptionSampler(None, 2)(clips, 3, 7)
    for name, own in (("tokens", first), ("other", second)):
        assert (shown[name][:, 0, 0] % 10 == 1).all()
        hard = shown[name][:, 1, 0]
        assert ((hard > 0) == (known > 0)).all()
        assert set((hard[known == 2] - 1 - 10 * own[known == 2]).tolist()) == {1, 2}
        assert set((hard[known == 1] - 1 - 10 * own[known == 1]).tolist()) == {1}
        # Each of two negatives is shown once, that of hard=1 first; a single one is shown once.
        assert np.array_equal(both[name][:, :2], shown[name])
        assert ((both[name][:, 2, 0] > 0) == (known == 2)).all()
        assert (both[name][known == 2, 1] != both[name][known == 2, 2]).all()
    again, other = CaptionSampler(None, 1)(clips, 3, 7), CaptionSampler(None, 1)(clips, 3, 8)
    assert all(np.array_equal(shown[name], again[name]) for name in shown)
    assert not np.array_equal(shown["tokens"], other["tokens"])
    # With one pair only, the third caption is not shown.
    capped = CaptionSampler(1, 0)(clips, 3, 7)
    assert max(capped["tokens"].max(), capped["other"].max()) == 11
    # Families are learned from one caption.
    families = clips | {"families": np.arange(count * 6).reshape(count, 3, 2)}
    one = CaptionSampler(None, 0)(families, 3, 7)
    assert np.array_equal(one["tokens"], letters[np.arange(count), first, 0])
    assert np.array_equal(one["families"], families["families"][np.arange(count), first])


def test_recall_equals_a_naive_loop() -> None:
    drawn = np.random.default_rng(2)
    vectors = drawn.normal(size=(30, 3, 4, 6))
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    words = drawn.permutation(90).reshape(30, 3)
    words[4, 2] = words[9] = -1
    words[7, 1] = words[7, 0]
    words[12, 1] = words[13, 1]
    changes = drawn.integers(-1, 3, (30, 3, 3))
    changes[:, :, 0] = np.where(words % 5 == 0, -1, changes[:, :, 0])
    first = asked = nearer = hard = 0
    for turn in range(3):
        pairs = {}
        for scene in (own for own in range(30) if own != 9):
            count = (words[scene] >= 0).sum()
            pairs[scene] = turn % count, (turn + 1) % count
        for scene, (one, two) in pairs.items():
            if words[scene, one] == words[scene, two]:
                continue
            scores, right = {}, set()
            for other, (_, place) in pairs.items():
                scores[other] = vectors[scene, one, 0] @ vectors[other, place, 0]
                if words[other, place] in (words[scene, one], words[scene, two]):
                    right.add(other)
            first += max(scores, key=lambda own: scores[own]) in right
            asked += 1
            rivals = [vectors[scene, one, 0] @ vectors[scene, one, 1 + i] for i in range(3) if changes[scene, one, i] >= 0]
            if rivals:
                hard += 1
                nearer += vectors[scene, one, 0] @ vectors[scene, two, 0] > max(rivals)
    found = recall_in_pools(vectors[:, :, 0], words, 256)
    assert (found["questions"], found["pool"]) == (asked, 29)
    assert found["r1"] == pytest.approx(first / asked)
    beside = recall_among_hard_negatives(vectors[:, :, 0], words, vectors[:, :, 1:], changes)
    assert (beside["hard_questions"], beside["hard_r1"]) == (hard, pytest.approx(nearer / hard))
    assert {name for name in beside if name[5:] in CHANGED} == {f"hard_{kind}" for kind in CHANGED[:3]}


def test_the_loss_compares_both_captions_with_false_captions() -> None:
    said = torch.nn.functional.normalize(torch.from_numpy(np.random.default_rng(0).normal(size=(3, 2, 2, 5))), dim=-1)
    scene = torch.tensor([[4, 5, 0], [4, 0, 0], [6, 0, 0]])
    claimed, asked_of = torch.tensor([[4, 0, 0], [4, 0, 0], [6, 0, 0]]), torch.tensor([[5, 0, 0], [4, 0, 0], [6, 0, 0]])
    shown = {name: torch.ones(3, 2, 8, dtype=torch.uint8) for name in ("tokens", "other")}
    shown["tokens"][1, 1] = shown["other"][2, 1] = 0
    own = {"scene_actions": scene, "second_actions": claimed, "first_actions": asked_of, "sample": torch.arange(3)}
    loss = TASK.loss(said, {**shown, **own})
    vectors = said.numpy()
    # The second captions of scenes 0 and 1 are true of both; the first caption of scene 1 is true of scene 0,
    # but not the other way round.
    ways = ({0: [0, 2], 1: [1, 2], 2: [0, 1, 2]}, {0: [0, 2], 1: [0, 1, 2], 2: [0, 1, 2]})
    expected = 0.0
    for asked, (counted, without) in enumerate(zip(ways, (1, 2), strict=True)):
        query, texts = vectors[:, asked], vectors[:, 1 - asked, 0]
        for one, others in counted.items():
            held = [texts[i] for i in others] + [query[one, 1]] * (one != without)
            scores = np.exp(20 * np.array(held) @ query[one, 0])
            expected -= np.log(scores[others.index(one)] / scores.sum()) / 12
        for one in range(3):
            askers = [i for i, others in counted.items() if one in others]
            scores = np.exp(20 * query[askers, 0] @ texts[one])
            expected -= np.log(scores[askers.index(one)] / scores.sum()) / 12
        far = 1 - (query[:, 1] * query[:, 0]).sum(-1) + 1e-4
        nearer = np.log(1 + 2 * (1 - (query[:, 0] * texts).sum(-1)) / far)[[one for one in range(3) if one != without]]
        expected += nearer.mean()
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_form_restores_the_goal() -> None:
    families = TASK.configured(load_settings("quick", ["text.goal=families"], "text"))
    for task in (TASK, families):
        restored = TASK.restored(task.forms.form)
        assert (restored.forms.form, restored.abilities.class_names) == (task.forms.form, task.abilities.class_names)
    assert families.abilities.class_names != TASK.abilities.class_names


def test_embeddings_do_not_depend_on_the_batch(folder: Path) -> None:
    texts = ["a person walks", "someone jumps twice, then sits down", "a person walks", "waving"]
    model = TextModel(str(folder / "tiny"), 0, Model()).eval()
    with torch.inference_mode():
        found = model(texts)
    np.testing.assert_allclose(found, load_encoder(str(folder / "tiny")).encode(texts), atol=1e-6)


def test_all_presets_have_a_small_learning_rate() -> None:
    presets = [file.stem for file in (ROOT / "configs" / "train").glob("*.yaml") if file.stem != "base"]
    assert len(presets) > 5
    assert all(load_settings(preset, task="text").optimiser.rate <= 5e-4 for preset in presets)


def test_pairs_are_learned_but_not_shuffled_pairs(reported: dict[str, Any]) -> None:
    whole, before, shuffled = (reported[name]["measures"] for name in ("whole", "before", "shuffled"))
    # Few of so few clips are found first: the share of those among the first ten is less noisy.
    assert whole["r10"] > before["r10"] + 0.1
    assert whole["hard_r1"] > before["hard_r1"] + 0.2
    assert shuffled["r10"] < whole["r10"] - 0.1


def test_families_are_learned_but_not_shuffled_families(reported: dict[str, Any]) -> None:
    right, wrong = reported["families"]["measures"], reported["wrong families"]["measures"]
    assert right["exact"] > right["commonest"] + 0.1
    assert wrong["exact"] < wrong["commonest"] + 0.05
    said = [max(likely, key=lambda name: likely[name]) for likely in reported["reported families"]]
    assert said[0] == said[2] == "locomotion"
    assert set(reported["reported families"][0]) == set(family_names())


def test_a_killed_and_resumed_run_leaves_the_same_bytes(reported: dict[str, Any]) -> None:
    tiny.assert_resumed(reported["short"])
    assert reported["short killed files"] == reported["short files"]
    assert {"encoder/modules.json", "encoder/model.safetensors"} < set(reported["short files"])


def test_a_run_is_an_encoder_with_and_without_adapters(reported: dict[str, Any]) -> None:
    for name in ("whole", "adapted"):
        np.testing.assert_allclose(reported[f"{name} by encoder"], reported[f"{name} by model"], atol=1e-6)
        assert np.abs(np.subtract(reported[f"{name} by encoder"], reported["tiny by encoder"])).max() > 1e-3
        assert not any("parametrizations" in weight for weight in reported[f"{name} weights"])
    # Rank 4 for two layers with six matrices each: 2 * (4 * 8 * 32 + 2 * 4 * (32 + 64)) float32.
    assert 0 < reported["adapter bytes"] - 4 * 2 * (4 * 4 * 64 + 2 * 4 * 96) < 4000
    assert reported["embedded"] == pytest.approx(1, abs=1e-5)


def test_training_from_a_config_works(reported: dict[str, Any]) -> None:
    assert reported["config"]["steps"] == 2
    assert reported["config"]["measures"]["clips"] > 3


def test_impossible_requests_raise(folder: Path, reported: dict[str, Any]) -> None:
    assert "has no weights that could be trained here" in reported["static"]["error"]
    assert "data.frames" in reported["cut"]["error"]
    assert "holds another run" in reported["other encoder"]["error"]
    settings = load_settings("quick", [f"text.encoder={folder / 'tiny'}"], "text")
    with pytest.raises(UsageError, match=r"--set text\.encoder=some/run"):
        open_setup(Request(str(folder / "dataset"), "text", "quick", settings, init=Path("some/run")))


@pytest.mark.parametrize("rank", [None, 4])
def test_checkpointing_stores_less_and_changes_no_gradient(folder: Path, rank: int | None) -> None:
    """At least 30 % less is stored for the backward pass, with and without adapters."""
    view, texts = View(1, 1, 1, (), str(folder / "tiny")), [f"a person walks {'and turns ' * 5}"] * 2 + ["someone sits"]
    stored, gradients, losses = [], [], []
    for on in (False, True):
        torch.manual_seed(0)
        model = TASK.build(view, Model()).train()
        if rank is not None:
            add_adapters(model.encoder, rank)
        set_checkpointing(model, on=on)
        sizes = {}

        def store(tensor: Any, sizes: dict[int, int] = sizes) -> Any:
            sizes[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        torch.manual_seed(1)
        with torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor):
            loss = model(texts)[:, 0].sum()
        own = {parameter.data_ptr() for parameter in model.parameters()}
        stored.append(sum(size for pointer, size in sizes.items() if pointer not in own))
        loss.backward()
        losses.append(loss.item())
        gradients.append([weight.grad for weight in trainable_weights(model).values() if weight.grad is not None])
    assert losses[0] == losses[1]
    assert len(gradients[0]) > 3
    assert all((one == other).all() for one, other in zip(*gradients, strict=True))
    assert stored[1] < 0.7 * stored[0]

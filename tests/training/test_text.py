"""The task text: hard negatives, its loss, and runs with a tiny encoder."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from posegen.captions.parser import parse_caption  # noqa: E402
from posegen.cli.main import main  # noqa: E402
from posegen.dataset.read import Dataset, open_dataset  # noqa: E402
from posegen.dataset.splits import in_split  # noqa: E402
from posegen.embedding import embed, load_encoder, open_embeddings  # noqa: E402
from posegen.embedding.transformer import load_model as load_transformer  # noqa: E402
from posegen.library.load import load_library  # noqa: E402
from posegen.training import text_pairs  # noqa: E402
from posegen.training.data.pairs import CHANGED, alternatives_of, read_captions  # noqa: E402
from posegen.training.settings import load_settings  # noqa: E402
from posegen.training.text_pairs import CachedCaptionLoss, CaptionLoss, twin_loss  # noqa: E402
from tests.embedding import tiny_encoder  # noqa: E402
from tests.once import own_copy  # noqa: E402
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


def _others(caption: dict[str, Any], row: dict[str, Any]) -> dict[str, list[str]]:
    done = tuple(segment["action"] for actor in row["actors"] for segment in actor["segments"])
    said = tuple((reported["kind"], reported["action"], reported["value"]) for reported in caption["statements"])
    return alternatives_of(caption["text"], said, done)


def test_one_statement_is_changed_and_false(folder: Path) -> None:
    kinds: Counter[str] = Counter()
    captions = 0
    for row in _rows(open_dataset(folder / "dataset"))[::4]:
        done = {segment["action"] for segment in row["actors"][0]["segments"]}
        for caption in row["captions"]:
            captions += 1
            for changed, other in ((kind, other) for kind, others in _others(caption, row).items() for other in others):
                gone, come = _claims(caption["text"]) - _claims(other), _claims(other) - _claims(caption["text"])
                assert (gone.total(), come.total()) == (1, 1), (caption["text"], other)
                (_, was, _, before), (_, kind, action, now) = *gone, *come
                assert was == kind == changed
                kinds[kind] += 1
                if kind == "action":
                    assert action not in done, (caption["text"], other)
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
        return set(alternatives_of(text, said, done))

    walk, slow = ("action", "walk", ""), ("speed", "walk", "slow")
    assert others("a person walks slowly", walk, slow, done=("walk",)) == {"speed"}
    # Another walk of the scene may be fast.
    assert others("a person walks slowly", walk, slow, done=("walk", "walk")) == set()
    # The phrase occurs twice.
    assert others("a person walks and walks", walk, done=("walk",)) == set()
    assert others("a person sleepwalks", walk, done=("walk",)) == set()
    assert others("a person walks", walk, done=("walk",)) == {"action"}


def test_all_presets_have_a_small_learning_rate() -> None:
    presets = [file.stem for file in (ROOT / "configs" / "train").glob("*.yaml") if file.stem != "base"]
    assert len(presets) > 5
    assert all(load_settings(preset, task="text").optimiser.rate <= 5e-4 for preset in presets)


def test_captions_of_a_scene_are_pairs_with_a_false_caption(folder: Path) -> None:
    dataset, pairs = open_dataset(folder / "dataset"), read_captions(str(folder / "dataset"), 200)
    scenes = [{caption["text"] for caption in dataset.rows(sample)[0]["captions"]} for sample in range(200)]
    for split, rows in pairs.splits.items():
        own = [scenes[sample] for sample in in_split(dataset.header.seed, np.arange(200), split)]
        assert len(rows) > len(own)
        for row in rows.tolist():
            anchor, positive, negative = (pairs.texts[name][row] for name in ("anchor", "positive", "negative"))
            assert anchor != positive
            assert any({anchor, positive} <= captions and negative not in captions for captions in own)
    assert sorted(np.concatenate(list(pairs.splits.values())).tolist()) == list(range(len(pairs.texts["anchor"])))


def _vectors(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))


def test_a_hard_negative_that_equals_the_query_has_a_gradient() -> None:
    query, other = _vectors(4, 0), _vectors(4, 1)
    hard = (query + 1e-3 * _vectors(4, 2)).requires_grad_()
    twin_loss(query, other, hard).backward()  # type: ignore[no-untyped-call]
    assert hard.grad is not None
    assert hard.grad.norm() > 1
    assert twin_loss(query, query, other) < 0.01, "the other caption is nearer"
    assert twin_loss(query, other, hard.detach()) > twin_loss(query, other, -query)


def test_the_loss_in_parts_is_that_of_the_whole_batch(folder: Path) -> None:
    model = load_transformer(folder / "tiny", "cpu")
    columns = [_vectors(6, seed) for seed in range(3)]
    whole = [values.clone().requires_grad_() for values in columns]
    loss = CaptionLoss(model).compute_loss_from_embeddings(whole, None)
    loss.backward()
    parts = [[part.clone().requires_grad_() for part in values.split(2)] for values in columns]
    in_parts = CachedCaptionLoss(model, mini_batch_size=2).calculate_loss(parts, with_backward=True)
    assert float(in_parts) == pytest.approx(float(loss.detach()), rel=1e-5)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one.grad, torch.cat([part.grad for part in other]), atol=1e-5, rtol=1e-4)


def _train(folder: Path, out: Path, *options: str) -> int:
    few = ("batch=16", "optimiser.rate=1e-3", "checks.times=1", "machine.threads=1", "machine.device=cpu")
    settings = [part for setting in few for part in ("--set", setting)]
    command = ["train", str(folder / "dataset"), "--task", "text", "--encoder", str(folder / "tiny"), "--out", str(out)]
    return main([*command, *settings, *options, "--json"])


def test_captions_are_learned_and_the_run_is_an_encoder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", "off")
    run = tmp_path / "run"
    assert _train(folder, run, "--set", "steps=120") == 0
    measures = json.loads(capsys.readouterr().out)["measures"]
    # Few of so few captions are found first: the share of those among the first ten is less noisy.
    assert measures["r10"] > measures["r10_before"] + 0.1
    assert measures["hard_r1"] > measures["hard_r1_before"] + 0.15
    assert _train(folder, run, "--set", "steps=120") == 0
    assert json.loads(capsys.readouterr().out)["nothing_to_do"] is True
    assert main(["runs", str(tmp_path), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert (listed["task"], listed["measure"], listed["test"]) == ("text", "r1", measures["r1"])
    embed(folder / "dataset", str(run), cached=False)
    embeddings = open_embeddings(folder / "dataset")
    own = load_encoder(str(run)).encode(list(embeddings.texts[:20]))
    assert float((embeddings.vectors()[:20] * own).sum(axis=1).min()) == pytest.approx(1, abs=1e-5)


def test_a_stopped_run_resumes_to_the_same_bytes_in_parts_of_a_batch(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--set", "steps=12", "--set", "checks.times=3", "--set", "machine.micro_batch=8", "--lora", "4")
    assert _train(folder, tmp_path / "whole", *options) == 0

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(text_pairs, "_finish", killed)
        assert _train(folder, tmp_path / "stopped", *options) == 130
    assert _train(folder, tmp_path / "stopped", *options) == 0
    one, other = ((tmp_path / name / "encoder" / "model.safetensors").read_bytes() for name in ("whole", "stopped"))
    assert one == other


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--encoder", "hashing-for-tests"], "has no weights that could be trained here"),
        (["--init", "some/run"], "--init has no effect with --task text"),
        (["--set", "data.frames=40"], "--task text has no setting 'data.frames'"),
        (["--set", "data.samples=3"], "no two captions of a scene in different words"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, tmp_path: Path, options: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _train(folder, tmp_path / "run", *options) == 2
    assert reported in capsys.readouterr().err
    assert not (tmp_path / "run").exists()

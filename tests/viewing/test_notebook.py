"""What Python and notebooks show of datasets: short, with a picture, and nothing of the inside."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import posegen
from posegen.foundations.errors import PosegenError, UsageError
from tests.once import generated_once


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> posegen.open:
    return posegen.open(generated_once(tmp_path_factory, "smoke", 12))


def test_values_are_shown_in_one_line_and_completed_without_internals(dataset: posegen.open) -> None:
    batches = dataset.batches(4)
    shown = (dataset, dataset[3], dataset.header, dataset.config, batches, batches.batch(0), posegen.compose("a person waves"))
    for value in shown:
        assert len(repr(value).strip().partition("\n")[0]) == len(repr(value)) < 160, repr(value)
    for value in (dataset, dataset[3], batches, batches.batch(0)):
        assert not [name for name in dir(value) if "embedding" not in name and not hasattr(value, name)]
    assert dir(dataset[3])[:2] == ["action", "caption"]
    assert "check_file" not in dir(dataset)
    assert [*batches.batch(0).values] == ["sample", "variant", "joints", "action", "contact", "captions", "length"]


def test_a_sample_is_a_looping_picture_with_its_captions(dataset: posegen.open) -> None:
    html = dataset[3]._repr_html_()
    picture = Image.open(BytesIO(b64decode(re.search('base64,([^"]+)"', html)[1])))
    assert picture.n_frames == len(range(0, dataset[3].sequences[0]["length"], 3))
    assert picture.info["loop"] == 0
    assert len(html) < 600_000
    assert html.count("<li>") == len(dataset[3].sequences[0]["captions"])
    with pytest.raises(UsageError, match="mirror"):
        dataset[3].show("mirrored")


def test_a_dataset_is_a_page_in_a_frame(dataset: posegen.open) -> None:
    html = dataset.view(2)._repr_html_()
    assert html.count("<iframe") == 1
    assert '"' not in html.partition('srcdoc="')[2].partition('" width')[0]


def test_samples_are_selected_as_from_an_array(dataset: posegen.open) -> None:
    for chosen in (slice(2, 9, 3), slice(-2, None), [4, -1], np.arange(12) % 5 == 0):
        assert [sample.index for sample in dataset[chosen]] == np.arange(12)[chosen].tolist()
    assert sorted(np.concatenate([*dataset.splits.values()]).tolist()) == [*range(12)]
    short, long = (dataset.batches(4, split=name, epochs=1) for name in ("train", "training"))
    assert short.order == long.order


def test_configs_are_named_or_given_as_keys() -> None:
    keys = posegen.load_config({"frames": 100, "story": {"actors": {"max": 2}}}, seed=3)
    assert (keys.frames, keys.story.actors.max, keys.seed, posegen.load_config(keys)) == (100, 2, 3, keys)
    assert posegen.synthesize("smoke", [1]).rows == posegen.synthesize(posegen.load_config("smoke"), [1]).rows


@pytest.mark.parametrize(
    "opens", [posegen.open, posegen.verify, posegen.evaluate, lambda path: posegen.load_config(f"{path}.yaml")]
)
def test_a_missing_path_is_an_error_of_python_and_of_posegen(opens: type, tmp_path: Path) -> None:
    for kind in (FileNotFoundError, PosegenError):
        with pytest.raises(kind, match="there is no"):
            opens(str(tmp_path / "none"))

"""`posegen show`: pictures from a dataset and from a config, and its error messages."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, ImageColor

from docs.skeleton_figure import posed
from posegen.cli.main import main
from posegen.dataset.documents import FORMAT_VERSION
from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.runs import current_run
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARTS
from posegen.viewing.palette import LEFT

FRAMES, SAMPLES = 6, 3
VARIANTS = ("base", "mirror")
SCHEMA = pa.schema(
    [
        ("sample", pa.int64()),
        ("variant", pa.string()),
        ("captions", pa.list_(pa.struct([("text", pa.string())]))),
        ("actors", pa.list_(pa.struct([("seat_height", pa.float32())]))),
    ]
)
SMALL = ["--set", "frames=40"]


def field(name: str, inner: dict[str, int], dtype: str, fill: float, **attributes: list[str]) -> ArrayField:
    dims, sizes = ("variant", "actor", "frame", *inner), (1, FRAMES, *inner.values())
    return ArrayField(name, dims, (len(VARIANTS), *sizes), (1, *sizes), dtype, fill, dict(attributes))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three samples of figures that glide forward in the rest pose, with captions that state the variant."""
    path = tmp_path_factory.mktemp("show") / "dataset"
    fields = (
        field("joints", {"joint": len(JOINTS), "axis": 3}, "float32", math.nan),
        field("action", {"part": len(PARTS)}, "uint16", 65535, names=["glide", "wave"]),
        field("contact", {"point": len(CONTACTS)}, "uint8", 255),
    )
    header = Header(
        FORMAT_VERSION, 1, "0" * 32, "gliding", {}, 0, SAMPLES, 25, FRAMES, {}, "CC0-1.0", SAMPLES, SAMPLES, VARIANTS, fields
    )
    way = np.arange(FRAMES)[:, None, None] * np.array([0.0, 0.0, 0.02])
    joints = np.broadcast_to((posed()[None] + way).astype(np.float32), (SAMPLES, 2, 1, FRAMES, len(JOINTS), 3))
    arrays = {
        "joints": joints,
        "action": np.zeros((SAMPLES, 2, 1, FRAMES, len(PARTS)), np.uint16),
        "contact": np.ones((SAMPLES, 2, 1, FRAMES, len(CONTACTS)), np.uint8),
    }
    rows = [
        {
            "sample": sample,
            "variant": variant,
            "captions": [{"text": f"Figure {sample} glides."}, {"text": f"It is {variant}."}],
            "actors": [{"seat_height": 0.0}],
        }
        for sample in range(SAMPLES)
        for variant in VARIANTS
    ]
    create(path, header)
    commit_shard(path, header, 0, arrays, pa.Table.from_pylist(rows, schema=SCHEMA), current_run())
    publish(path, header, SAMPLES)
    return path


def has_figure(path: Path) -> bool:
    with Image.open(path) as picture:
        away = np.abs(np.asarray(picture.convert("RGB")).astype(int) - ImageColor.getrgb(LEFT)).sum(-1)
    return bool((away < 40).sum() > 200)


def test_a_sample_of_a_dataset_as_sheet_and_animation(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet, animation = tmp_path / "a.png", tmp_path / "a.gif"
    assert main(["show", str(dataset), "--sample", "2", "-o", str(sheet)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "sample 2, base: Figure 2 glides. / It is base.\n"
    assert str(sheet) in printed.err
    assert main(["show", str(dataset), "--variant", "mirror", "-o", str(animation), "--quiet"]) == 0
    with Image.open(animation) as picture:
        assert picture.n_frames == FRAMES
    assert has_figure(sheet)
    assert has_figure(animation)


def test_mistakes_are_explained(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    png = str(tmp_path / "a.png")
    for arguments, code, message in (
        ([str(dataset), "--sample", "3", "-o", png], 2, "has no sample 3; its 3 samples are numbered from 0"),
        ([str(dataset), "--sample", "-1", "-o", png], 2, "has no sample -1"),
        ([str(dataset), "--variant", "mirrored", "-o", png], 2, "there is no variant 'mirrored'; did you mean 'mirror'?"),
        ([str(dataset), "-o", str(tmp_path / "a.avi")], 2, "must end in .gif or .mp4 or .png"),
        ([str(dataset), "--config", "default", "-o", png], 2, "--config has no effect on a dataset"),
        (["-o", png], 2, "pass a dataset, or a config"),
        ([str(dataset), "--seed", "0", "-o", png], 2, "--seed has no effect on a dataset"),
        ([str(tmp_path), "-o", png], 2, "is not a dataset"),
        (["--config", "default", "--sample", "-2", "-o", png], 2, "sample -2 does not exist"),
    ):
        assert main(["show", *arguments]) == code
        printed = capsys.readouterr()
        assert printed.err.startswith("posegen: error: ")
        assert message in printed.err
        assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_config_without_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.png"
    assert main(["show", "--config", "smoke", *SMALL, "--sample", "7", "--variant", "mirror", "-o", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["path"], document["title"]) == (str(out), "sample 7, mirror")
    assert len(document["captions"]) >= 2
    assert has_figure(out)

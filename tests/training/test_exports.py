"""Every task's model is exported, run by ONNX Runtime, and gives what ``predict`` gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from posegen.foundations.errors import UsageError
from posegen.mocap.sources import SourceClip
from posegen.training.animate import generate_poses
from posegen.training.data.features import MOTION, View
from posegen.training.data.poses import POSE_NUMBERS
from posegen.training.model_formats import export_model
from posegen.training.predictions import predict, predict_clips
from posegen.training.settings import Model
from posegen.training.task import Task, find_task
from posegen.training.tasks.attribute import MEASURES
from posegen.training.trained_models import build_model, load_model, save_model

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


def run_of(folder: Path, task: Task, **view: Any) -> Path:
    """Save a model with random weights: what is tested does not depend on what it has learned."""
    own = View(**({"frames": 63, "fps": 6.25, "stride": 4, "actions": ("walk", "jump", "sit")} | view))
    model = build_model(task, own, Model(), 0)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data += 0.02 * torch.randn(parameter.shape, generator=generator)
    save_model(folder, task, own, Model(), model.state_dict())
    return folder


def onnx_session(run: Path) -> Any:
    for form in ("safetensors", "onnx"):
        assert export_model(run, form, run / f"export.{form}") < 1e-4
    return onnxruntime.InferenceSession(run / "export.onnx", providers=["CPUExecutionProvider"])


def clip_of(dataset: Path, sample: int) -> SourceClip:
    joints = open_dataset(dataset).arrays("joints", slice(sample, sample + 1))[0, 0, 0]
    return SourceClip(dataset, f"sample {sample}", joints[~np.isnan(joints[:, 0, 0])], 25.0, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["action", "identity", "retrieval", "attribute"])
def test_models_of_motion(name: str, dataset: Path, tmp_path: Path) -> None:
    """Rows for a dataset, rows for the same clips as files, and the exported model agree."""
    run = run_of(tmp_path, find_task(name), text_encoder="hashing-for-tests", text_dimension=64)
    session = onnx_session(run)
    assert json.loads(session.get_modelmeta().custom_metadata_map["posegen"])["output"]
    predict(run, dataset, tmp_path / "dataset.parquet")
    clips = [clip_of(dataset, sample) for sample in range(3)]
    assert predict_clips(run, clips, tmp_path / "clips.parquet") == 3
    stored = [row for row in pq.read_table(tmp_path / "dataset.parquet").to_pylist() if row["variant"] == "base"][:3]
    for clip, own, row in zip(clips, pq.read_table(tmp_path / "clips.parquet").to_pylist(), stored, strict=True):
        motion = MOTION.compute({"joints": clip.joints[None, None]}, load_model(run).view).astype(np.float32)
        output = session.run(None, {"motion": motion, "length": np.array([motion.shape[1]])})[0][0]
        assert own["clip"] == clip.name
        for predicted in (own, row):
            if name == "action":
                names = [load_model(run).view.actions[i] for i in output.argmax(axis=1)]
                assert predicted["frames"] == names
            elif name == "attribute":
                assert [predicted[measure] for measure in MEASURES] == pytest.approx(np.exp(output).tolist(), rel=1e-4)
            else:
                assert predicted["vector"] == pytest.approx(output.tolist(), abs=1e-5)


@pytest.mark.slow
def test_the_documented_sampler_gives_the_motion_of_animate(tmp_path: Path) -> None:
    # The rate of all presets, at which a token is several frames.
    rate = {"frames": 125, "fps": 12.5, "stride": 2}
    run = run_of(tmp_path, find_task("motion"), text_encoder="hashing-for-tests", text_dimension=16, **rate)
    onnx_session(run)
    page = (Path(__file__).parents[2] / "docs" / "animate.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(code.replace("motion.onnx", str(tmp_path / "export.onnx")), names)
    drawn = np.random.default_rng(0)
    text = drawn.standard_normal((2, 16), np.float32)
    noise = drawn.standard_normal((2, 40, POSE_NUMBERS), np.float32)
    model, length = load_model(run).model, torch.tensor([40, 40])
    expected = generate_poses(model, torch.from_numpy(text), length, torch.from_numpy(noise), 4.0, 4)
    assert np.abs(names["sample"](text, noise, steps=4) - expected.numpy()).max() < 1e-4
    assert names["about"]["task"] == "motion"


def test_bad_clips_are_left_out_by_name(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, folder = run_of(tmp_path / "run", find_task("action")), tmp_path / "clips"
    folder.mkdir()
    np.savez(folder / "right.npz", joints=clip_of(dataset, 0).joints, fps=25.0)
    np.savez(folder / "short.npz", joints=clip_of(dataset, 0).joints[:6], fps=25.0)
    late = np.concatenate([clip_of(dataset, 0).joints[:1].repeat(30, 0), clip_of(dataset, 0).joints])
    late[10:30] = np.nan
    np.savez(folder / "late.npz", joints=late, fps=25.0)
    ends = np.cumsum([0, 40, 0, 1])
    np.savez(folder / "many.npz", joints=late[30:71], offsets=ends, fps=25.0)
    (folder / "wrong.bvh").write_text("HIERARCHY")
    assert main(["predict", str(run), str(folder), "-o", str(tmp_path / "out.parquet"), "--json"]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["rows"] == 3
    assert [reason.partition(": ")[0].rpartition("/")[2] for reason in document["refused"]] == [
        "many.npz, clip 1",
        "many.npz, clip 2",
        "wrong.bvh, line 1",
    ]
    starts = {Path(row["clip"]).name: row["start"] for row in pq.read_table(tmp_path / "out.parquet").to_pylist()}
    assert starts == {"late.npz": 1.2, "many.npz, clip 0": 0.0, "right.npz": 0.0}
    assert "late.npz: frames 31 to " in printed.err
    assert "short.npz: left out" in printed.err
    assert main(["predict", str(run), str(folder / "wrong.bvh"), "-o", str(tmp_path / "none.parquet")]) == 2
    (tmp_path / "texts.csv").write_text("text\na person walks")
    assert main(["predict", str(run), str(tmp_path / "texts.csv"), "-o", str(tmp_path / "none.parquet")]) == 2
    assert "is a model of motion" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no clip has"):
        predict_clips(run, [], tmp_path / "none.parquet")
    assert not (tmp_path / "none.parquet").exists()

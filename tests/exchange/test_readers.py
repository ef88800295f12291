"""Exports in the readers of other projects: they find every clip, and the joints where posegen has them.

The readers are those of the extra `readers`, and two packages of npm in the folder that `POSEGEN_NODE_MODULES` names
(`npm install three gltf-validator`). A reader that is not installed skips its test.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.exchange.animations import bvh_name
from posegen.exchange.export import export
from posegen.foundations.skeleton import JOINTS
from tests.exchange.datasets import short_clips

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::(?!posegen)")]

SAMPLES, VARIANTS = 12, 5
CLOSE = 0.001
"""Metres."""
FRAMES = 0, 7, 40

VALIDATE = """
const fs = require('fs'), validator = require('gltf-validator'), folder = process.argv[2] + '/';
(async () => {
  let faults = 0, files = 0;
  for (const file of fs.readdirSync(folder).filter(name => name.endsWith('.glb'))) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(folder + file)));
    files++; faults += report.issues.numErrors + report.issues.numWarnings;
  }
  console.log(files, faults);
})()
"""
LOAD = """
import fs from 'fs';
import { BVHLoader } from 'three/examples/jsm/loaders/BVHLoader.js';
import { GLTFLoader } from 'three/examples/jsm/loaders/GLTFLoader.js';
globalThis.self = globalThis;
const files = (folder, ending) => fs.readdirSync(folder).filter(name => name.endsWith(ending)).map(name => folder + '/' + name);
let tracks = 0, animations = 0;
for (const file of files(process.argv[2] + '/bvh', '.bvh'))
  tracks += new BVHLoader().parse(fs.readFileSync(file, 'utf8')).clip.tracks.length >= 22;
for (const file of files(process.argv[2] + '/glb', '.glb')) {
  const bytes = fs.readFileSync(file);
  const found = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '');
  animations += found.animations.length === 1;
}
console.log(tracks, animations);
"""

Dataset = Any
Array = NDArray[Any]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return short_clips(tmp_path_factory, SAMPLES)


def exported(dataset: Dataset, form: str, folder: Path) -> tuple[Path, int]:
    out = folder / form
    return out, export(dataset.path, form, out, workers=1).clips


def test_hugging_face_reads_every_clip(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets")
    out, clips = exported(dataset, "hf", tmp_path)
    found = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert sum(len(split) for split in found.values()) == clips
    row = next(row for split in found.values() for row in split if row["name"] == "000003")
    joints = dataset[3].joints[0, 0]
    stored = joints[~np.isnan(joints).any((1, 2))].reshape(-1, 3 * len(JOINTS))
    np.testing.assert_array_equal(np.array(row["joints"], np.float32), stored)
    assert row["captions"] == [caption["text"] for caption in dataset[3].sequences[0]["captions"]]


def test_pycocotools_reads_every_annotation(dataset: Dataset, tmp_path: Path) -> None:
    coco = pytest.importorskip("pycocotools.coco")
    out, _ = exported(dataset, "coco", tmp_path)
    with redirect_stdout(io.StringIO()):
        found = [coco.COCO(file) for file in sorted(out.glob("*.json"))]
    frames = sum(row["length"] for sample in range(SAMPLES) for row in dataset[sample].sequences)
    assert sum(len(each.imgs) for each in found) == sum(len(each.anns) for each in found) == frames


def one_bvh(dataset: Dataset, folder: Path) -> tuple[Path, Array]:
    """Return the file of sample 3 and its joints."""
    out, _ = exported(dataset, "bvh", folder)
    joints = dataset[3].joints[0, 0]
    return out / "000003.bvh", joints[~np.isnan(joints).any((1, 2))]


def test_bvhio_places_joints_as_posegen(dataset: Dataset, tmp_path: Path) -> None:
    bvhio = pytest.importorskip("bvhio")
    file, joints = one_bvh(dataset, tmp_path)
    root = bvhio.readAsHierarchy(str(file))
    nodes = {node.Name: node for node, _, _ in root.layout()}
    for frame in FRAMES:
        root.loadPose(frame)
        for k, name in enumerate(JOINTS):
            where = nodes[bvh_name(name)].PositionWorld
            np.testing.assert_allclose(np.array([where.x, where.y, where.z]) / 100, joints[frame, k], atol=CLOSE)


def test_pymotion_places_joints_as_posegen(dataset: Dataset, tmp_path: Path) -> None:
    bvh = pytest.importorskip("pymotion.io.bvh")
    skeleton = pytest.importorskip("pymotion.ops.skeleton")
    file, joints = one_bvh(dataset, tmp_path)
    read = bvh.BVH()
    read.load(str(file))
    turns, positions, parents, offsets, _, _ = read.get_data()
    places, _ = skeleton.fk(turns, positions[:, 0, :], offsets, parents)
    order = [list(read.data["names"]).index(bvh_name(name)) for name in JOINTS]
    np.testing.assert_allclose(places[:, order] / 100, joints, atol=CLOSE)


def test_trimesh_reads_every_scene(dataset: Dataset, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    out, clips = exported(dataset, "glb", tmp_path)
    files = sorted(out.glob("*.glb"))
    assert len(files) == clips
    for file in files:
        low, high = trimesh.load(file).bounds
        assert 0.8 < high[1] - low[1] < 2.6  # metres, y up


def node(script: str, folder: Path, ending: str, argument: Path) -> list[int]:
    modules = os.environ.get("POSEGEN_NODE_MODULES")
    if not modules or shutil.which("node") is None:
        pytest.skip("needs node, and POSEGEN_NODE_MODULES: a node_modules folder with three and gltf-validator")
    (folder / "node_modules").symlink_to(Path(modules).resolve())
    file = folder / f"script.{ending}"
    file.write_text(script)
    done = subprocess.run(["node", file, argument], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_the_validator_of_khronos_finds_no_fault(dataset: Dataset, tmp_path: Path) -> None:
    out, clips = exported(dataset, "glb", tmp_path)
    assert node(VALIDATE, tmp_path, "cjs", out) == [clips, 0]


def test_three_js_loads_every_clip(dataset: Dataset, tmp_path: Path) -> None:
    _, clips = exported(dataset, "bvh", tmp_path)
    exported(dataset, "glb", tmp_path)
    assert node(LOAD, tmp_path, "mjs", tmp_path) == [clips, clips]

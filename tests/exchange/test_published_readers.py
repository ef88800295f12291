"""Exports in the readers that research projects publish: they find every clip, and joints where posegen has them.

They are those of text-to-motion, pyskl, ubisoft-laforge-animation-dataset, kimodo and holosoma; see
:mod:`tests.exchange.checkouts`. Of a file only the definitions that read are run, because the packages that the others import
(spacy, mmcv, viser, MuJoCo) are large or do not install beside current ones.
"""

from __future__ import annotations

import ast
import codecs
import copy
import importlib
import logging
import os
import pickle
import random
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.exchange.animations import bvh_name
from posegen.exchange.export import export
from posegen.foundations.skeleton import JOINTS
from tests.exchange.checkouts import checkout, definitions
from tests.exchange.datasets import short_clips

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::(?!posegen)")]

SAMPLES = 40
CLOSE = 0.001
"""Metres."""

Array = NDArray[Any]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return short_clips(tmp_path_factory, SAMPLES)


def stored(dataset: Any, sample: int) -> Array:
    """Return the joints of a sample without variants."""
    joints: Array = dataset[sample].joints[0, 0]
    return joints[~np.isnan(joints).any((1, 2))]


def torch() -> Any:
    return pytest.importorskip("torch")


def test_text_to_motion_reads_every_clip(dataset: Any, tmp_path: Path) -> None:
    folder, data = checkout("text-to-motion"), torch().utils.data
    clips = export(dataset.path, "humanml3d", tmp_path, workers=1).clips
    reader = definitions(
        folder / "data" / "dataset.py", "Text2MotionDatasetV2",
        data=data, np=np, os=os, pjoin=os.path.join, random=random, cs=codecs, tqdm=list,
    )  # fmt: skip
    names = ("POS_enumerator", "Loc_list", "Body_list", "Obj_List", "Act_list", "Desc_list", "VIP_dict", "WordVectorizer")
    words = definitions(folder / "utils" / "word_vectorizer.py", *names, np=np, pickle=pickle, pjoin=os.path.join)
    # The checkout has the words but not their vectors.
    for ending in ("words", "idx"):
        (tmp_path / f"our_vab_{ending}.pkl").write_bytes((folder / "glove" / f"our_vab_{ending}.pkl").read_bytes())
    known = pickle.loads((tmp_path / "our_vab_words.pkl").read_bytes())
    np.save(tmp_path / "our_vab_data.npy", np.ones((len(known), 300)))
    options = SimpleNamespace(
        dataset_name="t2m", max_motion_length=196, max_text_len=20, unit_length=4,
        motion_dir=str(tmp_path / "new_joint_vecs"), text_dir=str(tmp_path / "texts"),
    )  # fmt: skip
    mean, deviation = np.load(tmp_path / "Mean.npy"), np.load(tmp_path / "Std.npy")
    found, tokens = 0, []
    for split in ("train", "val", "test"):
        vectors = words.WordVectorizer(str(tmp_path), "our_vab")
        part = reader.Text2MotionDatasetV2(options, mean, deviation, str(tmp_path / f"{split}.txt"), vectors)
        found += len(part)
        for item in range(len(part)):
            embeddings, classes, caption, length, motion, frames, _ = part[item]
            assert embeddings.shape == (22, 300)
            assert (classes.sum(axis=1) == 1).all()
            assert caption
            assert length <= 22
            assert motion.shape == (196, 263)
            assert 40 <= frames <= 196
            assert np.isfinite(motion).all()
            assert np.abs(motion[:frames]).max() < 50
        tokens += [token for entry in part.data_dict.values() for text in entry["text"] for token in text["tokens"]]
    assert found == clips
    # Words without a vector become `unk`.
    assert np.mean([token.partition("/")[0] in known for token in tokens]) > 0.95


def test_pyskl_reads_every_sequence(dataset: Any, tmp_path: Path) -> None:
    folder = checkout("pyskl") / "pyskl" / "datasets"
    scipy_stats = pytest.importorskip("scipy.stats")
    clips = export(dataset.path, "pyskl", tmp_path, workers=1).clips
    load = SimpleNamespace(load=lambda file: pickle.loads(Path(file).read_bytes()))  # as mmcv.load does
    reader = definitions(folder / "pose_dataset.py", "PoseDataset", BaseDataset=object, mmcv=load, osp=os.path)
    steps = definitions(
        folder / "pipelines" / "sampling.py", "UniformSampleFrames", "UniformSample",
        np=np, cp=copy, warning_r0=logging.getLogger().warning,
    )  # fmt: skip
    poses = definitions(
        folder / "pipelines" / "pose_related.py", "EPS", "PoseDecode", "PreNormalize3D", "FormatGCNInput",
        np=np, get_mode=scipy_stats.mode,
    )  # fmt: skip
    compact = definitions(
        folder / "pipelines" / "augmentations.py", "PoseCompact", "_combine_quadruple",
        np=SimpleNamespace(**vars(np), Inf=np.inf), _pair=lambda value: (value, value),  # the name of NumPy 1
    )  # fmt: skip
    heatmaps = definitions(folder / "pipelines" / "heatmap_related.py", "EPS", "GeneratePoseTarget", np=np)
    upright = poses.PreNormalize3D()
    solid = steps.UniformSample(clip_len=100), poses.PoseDecode(), poses.FormatGCNInput(2)
    flat = steps.UniformSampleFrames(clip_len=48), poses.PoseDecode(), compact.PoseCompact(hw_ratio=1.0)
    images = heatmaps.GeneratePoseTarget(with_kp=True, with_limb=False)
    for kind, pipeline in (("ntu25", solid), ("coco17", flat)):
        found = 0
        for split in ("train", "val", "test"):
            part = SimpleNamespace(ann_file=str(tmp_path / f"{kind}.pkl"), split=split, data_prefix="")
            entries = reader.PoseDataset.load_pkl_annotations(part)
            found += len(entries)
            for entry in entries:
                values = {**entry, "modality": "Pose", "start_index": 0, "test_mode": False}
                if kind == "ntu25":
                    values = upright(values)
                    pose = values["keypoint"][0, 0]  # the middle of the spine at 0, the left shoulder towards -x
                    np.testing.assert_allclose(pose[1], 0, atol=1e-5)
                    np.testing.assert_allclose((pose[4] - pose[8])[1:], 0, atol=1e-5)
                    assert -0.5 < pose[4, 0] - pose[8, 0] < -0.2
                for step in pipeline:
                    values = step(values)
                assert values["keypoint"].shape == ((1, 2, 100, 25, 3) if kind == "ntu25" else (1, 48, 17, 2))
                assert np.isfinite(values["keypoint"]).all()
        assert found == clips
    values["keypoint"] *= 64 / max(values["img_shape"])
    drawn = images({**values, "img_shape": (64, 64)})["imgs"]
    assert drawn.shape == (48, 17, 64, 64)
    # Of the joints of the body; the face has no score. A peak lies half a pixel from a keypoint at most, along x and along y.
    peaks, scores = drawn.max(axis=(2, 3))[:, 5:], values["keypoint_score"][0, :, 5:]
    assert (peaks <= scores + 1e-6).all()
    assert (peaks >= np.exp(-(0.5**2) / images.sigma**2) * scores - 1e-6).mean() > 0.95


def test_lafan1_places_joints_as_posegen(dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(checkout("ubisoft-laforge-animation-dataset"))
    extract, utils = (importlib.import_module(f"lafan1.{name}") for name in ("extract", "utils"))
    result = export(dataset.path, "bvh", tmp_path, variants=["base"], workers=1)
    assert result.clips == SAMPLES
    for sample in range(SAMPLES):
        read = extract.read_bvh(str(tmp_path / f"{sample:06}.bvh"))
        _, places = utils.quat_fk(read.quats, read.pos, read.parents)
        order = [read.bones.index(bvh_name(name)) for name in JOINTS]
        np.testing.assert_allclose(places[:, order] / 100, stored(dataset, sample), atol=CLOSE)


def test_kimodo_reads_every_clip(dataset: Any, tmp_path: Path) -> None:
    kimodo, pytorch = checkout("kimodo") / "kimodo", torch()
    result = export(dataset.path, "kimodo", tmp_path, variants=["base"], workers=1)
    (menu,) = (
        node
        for node in ast.walk(ast.parse((kimodo / "demo" / "ui.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "load_motion"
    )
    shown: list[Any] = []
    skeleton = SimpleNamespace(nbjoints=len(JOINTS))
    session = SimpleNamespace(skeleton=skeleton, model_name="SMPLX", model_fps=30)
    demo = SimpleNamespace(
        client_sessions={0: session},
        device="cpu",
        clear_motions=lambda _: None,
        add_character_motion=lambda *motion: shown.append(motion[2:]),
        set_frame=lambda *_: None,
    )
    known = {"np": np, "torch": pytorch, "demo": demo}
    exec(compile(ast.Module([menu], []), "ui.py", "exec"), known)
    names = definitions(kimodo / "skeleton" / "definitions.py", "SMPLXSkeleton22", SkeletonBase=object, torch=pytorch)
    order = [name for name, _ in names.SMPLXSkeleton22.bone_order_names_with_parents]
    assert order == list(JOINTS)
    files = sorted(tmp_path.glob("*.npz"))
    for file in files:
        known["load_motion"](SimpleNamespace(client_id=0), str(file))
    assert len(shown) == len(files) == result.clips == SAMPLES
    for joints, rotations, contacts in shown:
        assert (contacts.shape, rotations.shape) == ((len(joints), 4), (*joints.shape, 3))
        np.testing.assert_allclose(pytorch.linalg.det(rotations), 1, atol=1e-5)
        # Rotations turn the bones of SMPL-X's T-pose, whose forearms point along x.
        forearm = joints[:, JOINTS.index("left_wrist")] - joints[:, JOINTS.index("left_elbow")]
        along = rotations[:, JOINTS.index("left_elbow"), :, 0]
        assert (pytorch.nn.functional.cosine_similarity(forearm, along) > 0.98).all()


def test_holosoma_reads_every_clip(dataset: Any, tmp_path: Path) -> None:
    folder = checkout("holosoma") / "src" / "holosoma_retargeting" / "holosoma_retargeting"
    result = export(dataset.path, "holosoma", tmp_path, variants=["base"], workers=1)
    names = definitions(folder / "config_types" / "data_type.py", "SMPLX_DEMO_JOINTS").SMPLX_DEMO_JOINTS
    assert [name.lower().replace("l_", "left_").replace("r_", "right_") for name in names] == list(JOINTS)
    load = definitions(folder / "examples" / "robot_retarget.py", "load_motion_data", np=np, logger=logging.getLogger())
    prepare = definitions(folder / "src" / "utils.py", "preprocess_motion_data", np=np).preprocess_motion_data
    robot, retargeter = SimpleNamespace(ROBOT_HEIGHT=1.32), SimpleNamespace(demo_joints=names)
    assert result.clips == SAMPLES
    for sample in range(SAMPLES):
        read = partial(load.load_motion_data, "robot_only", "smplx", tmp_path, f"{sample:06}")
        joints, objects, scale = read(constants=robot, motion_data_config=SimpleNamespace())
        stature = dataset[sample].sequences[0]["actors"][0]["stature"]
        assert scale == pytest.approx(1.32 / stature)
        own = stored(dataset, sample)
        assert (len(joints), objects.shape) == (len(own), (len(own), 7))
        np.testing.assert_array_equal(joints[..., 2], own[..., 1])
        ready = prepare(joints, retargeter, ["L_Foot", "R_Foot"], scale)
        assert -1e-6 < ready[:, [10, 11], 2].min() < 0.1 * scale + 1e-6  # toes above .1 m are taken as on a mat of that height

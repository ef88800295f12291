"""Read joints from files that posegen exports and no other module reads: CSV, GLB, Parquet, tar archives, feature arrays.

Files are untrusted: sizes are checked before memory is allocated. Damaged files raise errors of many kinds, which
:func:`posegen.mocap.sources.read_source` turns into messages.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posegen.dataset.clip_files import body_joints, check_joints, read_array, read_array_file
from posegen.exchange import features263, hml272
from posegen.exchange.export_format import CLIPS
from posegen.exchange.joint_rotations import joint_positions, of_quaternions
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS

MOST_BYTES = 128 * 2**20
"""Largest file that is read as a whole, member of an archive, and column of a row group."""
MOST_CLIPS = 1_000_000
_TABLE = ("time", *(f"{joint}_{axis}" for joint in JOINTS for axis in "xyz"))
_WIDTH = 3 * len(JOINTS)


class ExportedClip(NamedTuple):
    """Name within the file, joints float [frame, 22, 3], frames per second, and action; name and action may be empty."""

    name: str
    joints: Array
    fps: float
    action: str


def is_table(path: Path) -> bool:
    """Return whether a CSV file has the columns of an export."""
    with path.open("rb") as file:
        return file.readline(4 * len(",".join(_TABLE))).strip() == ",".join(_TABLE).encode()


def read_table(path: Path) -> ExportedClip:
    """Read a CSV file with a row for each frame."""
    from pyarrow.csv import ConvertOptions, read_csv

    if not is_table(path):
        raise UsageError(f"{path}: does not begin with the columns time,pelvis_x,pelvis_y and so on; export it again")
    _bytes(path)
    columns = read_csv(path, convert_options=ConvertOptions(column_types=dict.fromkeys(_TABLE, "float64")))
    values = np.stack([column.to_numpy() for column in columns.columns], axis=1)
    joints = values[:, 1:].reshape(-1, len(JOINTS), 3)
    check_joints(path, joints)
    return ExportedClip("", joints, _rate(path, values[:, 0]), "")


def read_parquet(path: Path) -> Iterator[ExportedClip]:
    """Read Parquet files with a row for each clip, as for the Hugging Face Hub."""
    import pyarrow.parquet as pq

    wanted = ["name", "action", "fps", "joints"]
    with pq.ParquetFile(path, thrift_string_size_limit=2**20, thrift_container_size_limit=2**16) as file:
        if missing := set(wanted) - set(file.schema_arrow.names):
            raise UsageError(f"{path}: has no column {', '.join(sorted(missing))}; give files of `posegen export --to hf`")
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            columns = [group.column(i) for i in range(group.num_columns)]
            if max(max(c.total_uncompressed_size, 4 * c.num_values) for c in columns) > MOST_BYTES:
                raise UsageError(f"{path}: row group {number} unpacks to more than {MOST_BYTES:,} bytes; write smaller groups")
            table = file.read_row_group(number, columns=wanted)
            for name, action, fps, joints in zip(*(table.column(column) for column in wanted), strict=True):
                values = joints.values.flatten().to_numpy().reshape(-1, len(JOINTS), 3)
                check_joints(path, values)
                yield ExportedClip(str(name), values, float(fps.as_py()), str(action))


def read_tar(path: Path) -> Iterator[ExportedClip]:
    """Read a tar archive with ``NAME.joints.npy`` and, behind it, ``NAME.json`` for each clip, as for `webdataset`."""
    with tarfile.open(path, "r:") as archive:
        name, joints = "", None
        for entry in islice(archive, 2 * MOST_CLIPS):
            stem, _, ending = entry.name.partition(".")
            if ending not in ("joints.npy", "json") or not entry.isfile() or entry.issparse():
                continue
            if entry.size > MOST_BYTES:
                raise UsageError(f"{path}: {entry.name:.200} has {entry.size:,} bytes; at most {MOST_BYTES:,} are read")
            content = archive.extractfile(entry)
            data = content.read() if content else b""
            if ending == "json" and joints is not None and stem == name:
                about = json.loads(data)
                yield ExportedClip(name, joints, float(about["fps"]), str(about.get("action", "")))
            elif ending != "json":
                name, joints = stem, read_array(path, io.BytesIO(data), stem, len(data))
                check_joints(path, joints)


def read_array_of_joints(path: Path, fps: float = features263.FPS) -> ExportedClip:
    """Read an ``.npy`` file with joints [frame, 22, 3] at `fps`, or with HumanML3D's 263 or MotionStreamer's 272 features."""
    values, fps = read_array_file(path), float(fps)
    if values.ndim == 2 and values.dtype.kind == "f" and values.shape[1] in (features263.WIDTH, hml272.WIDTH):
        if values.shape[1] == hml272.WIDTH:
            values, fps = hml272.joints_of(values), float(hml272.FPS)
        else:
            values, fps = features263.joints_of(values), float(features263.FPS)
    values = body_joints(values)
    check_joints(path, values)
    return ExportedClip("", values, fps, "")


def read_glb(path: Path) -> ExportedClip:
    """Read an animated skeleton whose nodes have the names of :data:`posegen.foundations.skeleton.JOINTS`."""
    data = _bytes(path)
    magic, version, _, size, kind = struct.unpack_from("<4sIII4s", data)
    if (magic, version, kind) != (b"glTF", 2, b"JSON"):
        raise UsageError(f"{path}: is not glTF 2.0 in one file; export it again")
    document, binary = json.loads(data[20 : 20 + size]), data[28 + size :]
    nodes = {node.get("name"): number for number, node in enumerate(document["nodes"])}
    if missing := [name for name in JOINTS if name not in nodes]:
        raise UsageError(f"{path}: has no joint {missing[0]}; give files of `posegen export --to glb`")
    animation = document["animations"][0]
    samplers = {
        (channel["target"]["node"], channel["target"]["path"]): animation["samplers"][channel["sampler"]]
        for channel in animation["channels"]
    }
    root = samplers[nodes["pelvis"], "translation"]
    times, path_of_root = (_accessor(document, binary, root[key], width) for key, width in (("input", 1), ("output", 3)))
    turns = [_accessor(document, binary, samplers[nodes[name], "rotation"]["output"], 4) for name in JOINTS]
    offsets = np.array([document["nodes"][nodes[name]]["translation"] for name in JOINTS], np.float64)
    joints = joint_positions(of_quaternions(np.stack(turns)), path_of_root, offsets)
    check_joints(path, joints)
    return ExportedClip("", joints, _rate(path, times[:, 0]), "")


def _accessor(document: Mapping[str, Any], binary: bytes, number: int, width: int) -> Array:
    accessor = document["accessors"][number]
    view = document["bufferViews"][accessor["bufferView"]]
    start = int(view["byteOffset"]) + int(accessor.get("byteOffset", 0))
    values = np.frombuffer(binary, "<f4", int(accessor["count"]) * width, start)
    return values.reshape(-1, width).astype(np.float64)


def _bytes(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise UsageError(f"{path}: has {size:,} bytes; at most {MOST_BYTES:,} are read: cut it into shorter clips")
    return path.read_bytes()


def _rate(path: Path, times: Array) -> float:
    """Return the frames per second of evenly spaced times, which may be rounded to a tenth of a millisecond."""
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    if not span > 0 or np.abs(np.diff(times) - span / (len(times) - 1)).max() > 1e-3:
        raise UsageError(f"{path}: its times do not increase evenly; export it again")
    rate = (len(times) - 1) / span
    return float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate


def listed_rate(path: Path) -> float | None:
    """Return the frames per second of a file by the list of the clips of its export; None without an entry in a list."""
    return _listed(path.parent / CLIPS).get(path.stem)


@lru_cache(4)
def _listed(path: Path) -> Mapping[str, float]:
    if not path.is_file():
        return {}
    lines = (json.loads(line) for line in _bytes(path).splitlines())
    return {str(entry["name"]): float(entry["fps"]) for entry in lines}

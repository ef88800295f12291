"""The table of derived fields, one line per field. Other packages add fields in the entry point group ``posegen.fields``."""

from __future__ import annotations

from typing import Any

from posegen.plugins import Registry

__all__ = ["FIELDS", "STORED_ARRAYS"]

STORED_ARRAYS = ("joints", "action", "contact")
"""Arrays of the motion itself, which every sample has."""

FIELDS: Registry[Any] = Registry(
    "posegen.fields",
    {
        "rotation": "posegen.fields.rotation:ROTATION",
        "velocity": "posegen.fields.velocity:VELOCITY",
        "momentum": "posegen.fields.momentum:MOMENTUM",
        "stick": "posegen.fields.stick:STICK",
        "camera": "posegen.fields.camera:CAMERA",
        "keypoints": "posegen.fields.keypoints:KEYPOINTS",
        "face": "posegen.fields.face:FACE",
        "objects": "posegen.fields.objects:OBJECTS_FIELD",
        "quality": "posegen.fields.quality:QUALITY",
    },
)
"""A :class:`posegen.fields.field.DerivedField` by name. Records are imported when they are used."""

"""Forward kinematics of many poses at once, in torch: from rotations and bones to joints, so that bones never change length."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from posegen.skeleton import JOINTS, PARENTS

__all__ = ["TURNED", "joints_of", "matrices_of"]

TURNED = tuple(joint for joint in range(len(JOINTS)) if joint in PARENTS)
"""Joints that carry others; how the rest is turned moves nothing."""


def _levels() -> tuple[tuple[int, ...], ...]:
    """Joints by how many bones are between them and the pelvis."""
    depth = [0]
    for parent in PARENTS[1:]:
        depth.append(depth[parent] + 1)
    return tuple(tuple(j for j, own in enumerate(depth) if own == level) for level in range(max(depth) + 1))


_LEVELS = _levels()


def matrices_of(columns: Tensor) -> Tensor:
    """Rotations from their first two columns, which need not be of unit length nor square to each other.

    Zhou et al., On the Continuity of Rotation Representations in Neural Networks, CVPR 2019.

    Parameters
    ----------
    columns : Tensor [..., 6]

    Returns
    -------
    Tensor [..., 3, 3]
    """
    x = functional.normalize(columns[..., :3], dim=-1)
    y = columns[..., 3:] - (x * columns[..., 3:]).sum(-1, keepdim=True) * x
    y = functional.normalize(y, dim=-1)
    return torch.stack([x, y, torch.linalg.cross(x, y)], dim=-1)


def joints_of(local: Tensor, root: Tensor, offsets: Tensor) -> Tensor:
    """Joints of poses.

    Parameters
    ----------
    local : Tensor [..., TURNED, 3, 3]
        Each joint's axes in those of its parent; the pelvis's in those of the world.
    root : Tensor [..., 3]
        Where the pelvis is, in metres.
    offsets : Tensor [..., 22, 3]
        Of each joint from its parent in the rest pose, in metres; broadcasts.

    Returns
    -------
    Tensor [..., 22, 3]
        Metres.
    """
    place = {0: root}
    turned = {0: local[..., 0, :, :]}
    for level in _LEVELS[1:]:
        parents = torch.stack([turned[PARENTS[joint]] for joint in level], dim=-3)
        bones = torch.stack([offsets[..., joint, :] for joint in level], dim=-2)
        moved = (parents @ bones[..., None].expand(*parents.shape[:-1], 1))[..., 0]
        for i, joint in enumerate(level):
            place[joint] = place[PARENTS[joint]] + moved[..., i, :]
        carrying = [joint for joint in level if joint in TURNED]
        if carrying:
            own = torch.stack([local[..., TURNED.index(joint), :, :] for joint in carrying], dim=-3)
            whole = torch.stack([turned[PARENTS[joint]] for joint in carrying], dim=-3) @ own
            turned |= {joint: whole[..., i, :, :] for i, joint in enumerate(carrying)}
    return torch.stack([place[joint] for joint in range(len(JOINTS))], dim=-2)

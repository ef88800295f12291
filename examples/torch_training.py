"""Train a small network on a dataset with a plain torch loop: which action does the body perform in each clip?

python examples/torch_training.py
"""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

import posegen
import posegen.torch

ACTIONS = ["walk", "squat", "jump", "kick"]

folder = Path(tempfile.mkdtemp()) / "actions"
config = posegen.load_config(
    "smoke",
    [
        "frames=150",
        "story.segments={min: 1, max: 1}",
        "story.layering=0",
        "story.themes={home: 1, park: 1, gym: 1, dojo: 1}",
        "quotas.exact=[{samples: 40, actions: [walk, squat, jump, kick]}]",
    ],
)
dataset = posegen.generate(config, workers=2, out=folder)

network = nn.Sequential(nn.Linear(22 * 3, 64), nn.ReLU(), nn.Linear(64, len(ACTIONS)))
optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)


def clips(split):
    """Yield joints relative to the pelvis [clip, frame, 66], which frames count [clip, frame], and the label of each clip."""
    data = posegen.torch.Dataset(folder, ["joints", "length", "actors"], variants=["base", "mirror"], split=split)
    for batch in DataLoader(data, batch_size=16, shuffle=split == "training", collate_fn=posegen.torch.collate):
        joints = batch["joints"][:, 0]
        frames = torch.arange(joints.shape[1])[None] < torch.as_tensor(batch["length"])[:, None]
        names = [actors[0]["segments"][0]["action"] for actors in batch["actors"]]
        relative = torch.nan_to_num(joints - joints[:, :, :1]).flatten(2)
        yield relative, frames, torch.tensor([ACTIONS.index(name) for name in names])


def scores(joints, frames):
    """Average the scores of the frames of a clip."""
    return (network(joints) * frames[..., None]).sum(1) / frames.sum(1, keepdim=True)


for _ in range(20):
    for joints, frames, labels in clips("training"):
        loss = nn.functional.cross_entropy(scores(joints, frames), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

right = torch.cat([scores(joints, frames).argmax(1) == labels for joints, frames, labels in clips("test")])
print(f"test accuracy {right.float().mean():.0%} of {len(right)} clips (chance {1 / len(ACTIONS):.0%})")

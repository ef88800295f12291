"""Add an action of your own as data: a salute with the hand at the chest, and generate motion with it.

python examples/own_action.py
"""

import tempfile
from pathlib import Path

import posegen

library = Path(tempfile.mkdtemp())
(library / "actions.yaml").write_text("""
family: own
actions:
  hand_on_heart:
    parts: [near_arm, head]   # what the action moves
    layered: true             # may be performed while standing or walking
    sided: true               # with the left or the right hand
    signs: {side: {less: hand_ahead}}  # how the joints show the side: captions are checked by it
    enter: 0.7
    exit: 0.7
    duration: [1.5, 3.0]
    pose: {near_shoulder_flexion: 28, near_shoulder_rotation: -55, near_elbow_flexion: 115, neck_flexion: 8}
""")
(library / "themes.yaml").write_text("""
themes:
  ceremony: {actions: {stand: 1, walk: 1, hand_on_heart: 3, bow: 1}}
""")
(library / "words").mkdir()
(library / "words" / "en.yaml").write_text("""
actions:
  hand_on_heart:
    verbs: ["puts|putting|put|put a hand on {their} heart"]
    side:
      left: ["with {their} left hand"]
      right: ["with {their} right hand"]
places:
  ceremony: [at a ceremony]
""")

config = posegen.load_config("smoke", [f"story.library={library}", "story.themes={ceremony: 1}"])
batch = posegen.synthesize(config, range(20))
captions = [caption["text"] for row in batch.rows for caption in row["captions"] if "heart" in caption["text"]]
print(f"{len(captions)} captions name the new action, such as: {captions[0]}")
assert not any(row["dropped"] for row in batch.rows)

"""Turn BVH files into actions, and generate a dataset of them. Without a folder of files, posegen writes some itself first.

python examples/own_clips.py [FOLDER]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import posegen

work = Path(tempfile.mkdtemp())


def run(*arguments):
    """Run a command of posegen."""
    subprocess.run([sys.executable, "-m", "posegen", *map(str, arguments)], check=True)


if len(sys.argv) > 1:
    clips = Path(sys.argv[1])
else:
    squats = ["samples=12", "frames=150", "story.segments={min: 1, max: 1}", "quotas.exact=[{samples: 12, actions: [squat]}]"]
    posegen.generate(posegen.load_config("smoke", squats), workers=1, out=work / "squats")
    run("export", work / "squats", "--to", "bvh", "-o", work / "bvh", "--variant", "base")
    clips = work / "bvh"

(work / "labels.csv").write_text("file,label\n" + "".join(f"{file.name},squat\n" for file in sorted(clips.rglob("*.bvh"))))
run(
    "import",
    clips,
    "--out",
    work / "library",
    "--labels",
    work / "labels.csv",
    "--licence",
    "CC0-1.0",
    "--source",
    "an example",
)
(work / "mine.yaml").write_text(f"samples: 20\nframes: 150\nstory: {{library: {work / 'library'}, themes: {{library: 1}}}}\n")
run("generate", "--config", work / "mine.yaml", "--out", work / "mine")
dataset = posegen.open(work / "mine")
print(f"{len(dataset)} samples: {dataset[0].sequences[0]['captions'][0]['text']}")

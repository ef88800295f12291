"""Configs: what they resolve to, what they refuse and how they say so, and what their identity depends on."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from posegen.config.identity import NOT_IDENTITY, canonical, differences, digest
from posegen.config.load import load_config, preset_description, presets
from posegen.config.schema import CONTENT_VERSION, Config
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.validation import keys_of
from posegen.library.load import Library, load_library

NOTHING = Library(entries={}, families={}, themes={}, words={})


def write(folder: Path, content: str, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


def message_of(source: str | Path | None, overrides: list[str], **values: Any) -> str:
    with pytest.raises(UsageError) as refused:
        load_config(source, overrides, **values)
    return str(refused.value)


# What configs resolve to


def test_presets() -> None:
    assert set(presets()) == {"default", "smoke", "full", "crowd", "quotas", "pairs"}
    assert load_config() == load_config("default") == Config()
    assert load_config().samples == 10_000
    assert load_config("full").samples == 100_000
    assert load_config("crowd").story.actors.max == 3
    assert load_config("smoke").samples <= 50
    assert all(load_config(name).name == name for name in presets())
    assert all(preset_description(path).endswith(".") for path in presets().values())


def test_presets_state_only_what_differs() -> None:
    built_in = Config().as_data()

    def check(stated: dict[str, Any], default: Any) -> None:
        for key, value in stated.items():
            if isinstance(value, dict) and isinstance(default[key], dict):
                check(value, default[key])
            else:
                assert value != default[key], key

    for name, path in presets().items():
        if name != "default":
            check(yaml.safe_load(path.read_text("utf-8")), built_in)


@pytest.mark.parametrize("place", ["package", "repository"])
def test_presets_are_found_from_a_wheel_and_from_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    package = tmp_path / "posegen"
    monkeypatch.setattr("posegen.config.load.__file__", str(package / "config" / "load.py"))
    with pytest.raises(PosegenError, match="install posegen again"):
        presets()
    folder = (package if place == "package" else tmp_path) / "configs"
    folder.mkdir(parents=True)
    (folder / "default.yaml").touch()
    assert presets() == {"default": folder / "default.yaml"}


def test_files_state_what_differs(tmp_path: Path) -> None:
    path = write(tmp_path, "frames: 100\nlength: {min: 50, max: 90}\nvariants: {speed: {max: 1.5}, scale: null}\n")
    config = load_config(path)
    assert config.name == "mine"
    assert config.frames == 100
    assert config.length is not None
    assert (config.length.min, config.length.max) == (50, 90)
    assert config.variants.speed is not None
    assert (config.variants.speed.min, config.variants.speed.max) == (0.8, 1.5)
    assert config.variants.names == ("base", "speed", "position", "mirror")
    assert load_config(str(path)) == config
    assert load_config(write(tmp_path, "# nothing\n", "empty.yml")) == Config(name="empty")
    assert load_config(write(tmp_path, "", "my own (2).yaml")).name == "my-own-2-"


def test_a_preset_wins_over_a_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "samples: 3", "smoke")
    monkeypatch.chdir(tmp_path)
    assert load_config("smoke").samples != 3
    assert load_config("./smoke").samples == 3


def test_order_of_precedence(tmp_path: Path) -> None:
    path = write(tmp_path, "samples: 1\nseed: 1\nframes: 30\n")
    config = load_config(path, ["samples=2", "seed=2", "samples=3"], samples=4, workers=None)
    assert (config.samples, config.seed, config.frames, config.workers) == (4, 2, 30, None)


def test_overrides() -> None:
    config = load_config("smoke", ["story.actors.max=2", "length.min=30", "length.max=4e1", "store.fields=[joints]"])
    assert config.story.actors.max == 2
    assert config.length is not None
    assert (config.length.min, config.length.max) == (30, 40)
    assert config.store.fields == ("joints",)
    assert load_config("default", ["variants.speed=null"]).variants.speed is None
    assert load_config("default", ["variants.position="]).variants.position is None


def test_a_library_path_starts_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moves").mkdir()
    write(tmp_path / "moves", "family: odd\nactions: {nod: {parts: [head], duration: [1, 2]}}")
    (tmp_path / "moves/words").mkdir()
    write(tmp_path / "moves/words", "actions: {nod: {verbs: [nods|nodding|nodded|nod]}}", "en.yaml")
    config = load_config(write(tmp_path, "story: {library: moves, actions: {nod: 2}}"))
    assert config.story.library == tmp_path.resolve() / "moves"
    # One of an option starts from the folder of the command, and is kept: the dataset is read from other folders too.
    monkeypatch.chdir(tmp_path)
    given = load_config("smoke", ["story.library=moves"])
    monkeypatch.chdir(tmp_path.parent)
    assert given.story.library == Path.cwd() / tmp_path.name / "moves"
    assert config.story.actions == {"nod": 2.0}


def test_data_lead_back_to_the_config() -> None:
    config = load_config("crowd", ["length={min: 50, max: 60}", "story.themes={office: 2}"], samples=3)
    assert Config.model_validate(config.as_data()) == config
    assert load_config("crowd", ["story.themes={office: 2}"]).story.themes == {"office": 2.0}
    assert pickle.loads(pickle.dumps(config)) == config


# What they refuse

# The bounds of each key are those of docs/config.md, which is compared with the models: here, one of each kind.
BAD = [
    ("fps=24", "fps", "20, 25, 30, 60 or 120 (got 24)"),
    ("fps=true", "fps", "20, 25, 30, 60 or 120"),
    ("frames=9", "frames", "at least 10 (got 9)"),
    ("frames=100.5", "frames", "whole number (got 100.5)"),
    ("frames=.inf", "frames", "whole number"),
    ("frames='100'", "frames", "whole number (got '100')"),
    ("samples=0", "samples", "at least 1"),
    ("samples=true", "samples", "whole number (got true)"),
    ("samples=null", "samples", "whole number (got nothing)"),
    ("samples=1e30", "samples", "at most 1000000000"),
    ("seed=-1", "seed", "at least 0"),
    ("workers=many", "workers", "whole number (got 'many')"),
    ("name=a/b", "name", "letters"),
    ("name=5", "name", "must be text"),
    ("length=100", "length", "group of keys (got 100)"),
    ("length={min: 100}", "length.max", "missing"),
    ("length={min: 100, max: 50}", "length", "min must not be above max (got min 100, max 50)"),
    ("length={min: 100, max: 251}", "length", "at most frames, which is 250 (got 251)"),
    ("variants.speed.min=1.5", "variants.speed", "min must not be above max"),
    ("variants.speed.min=.nan", "variants.speed.min", "finite number"),
    ("variants.speed.max=1e400", "variants.speed.max", "finite number"),
    ("variants.position.max=-1", "variants.position.max", "greater than 0"),
    ("variants.mirror=1", "variants.mirror", "true or false (got 1)"),
    ("variants.mirror=no", "variants.mirror", "true or false (got 'no')"),
    ("variants=null", "variants", "group of keys (got nothing)"),
    ("population.female=1.01", "population.female", "at most 1"),
    ("population.styles={}", "population.styles", "above 0"),
    ("population.styles={tired: 0}", "population.styles", "must give some style a weight above 0"),
    ("population.styles={tird: 1}", "population.styles.tird", "did you mean 'tired'"),
    ("population.styles.tired=-1", "population.styles.tired", "at least 0"),
    ("story.actors.max=9", "story.actors.max", "at most 8"),
    ("story.themes={}", "story.themes", "above 0"),
    ("story.themes={offic: 1}", "story.themes.offic", "did you mean 'office'"),
    ("story.themes=[office]", "story.themes", "group of keys"),
    ("story.actions={wlak: 1}", "story.actions.wlak", "did you mean 'walk'"),
    ("story.actions.walk=x", "story.actions.walk", "must be a number (got 'x')"),
    ("story.library=/no/such/folder", "story.library", "no such folder"),
    ("story.library=[a]", "story.library", "must be a path"),
    ("store.chunk=30", "store", "shard must be a multiple of chunk (got shard 200, chunk 30)"),
    ("store.fields=[]", "store.fields", "must have at least 1 entries"),
    ("store.fields=[joint]", "store.fields[0]", "'objects' or 'quality' (got 'joint')"),
    ("store.fields=[joints, joints]", "store.fields", "has joints twice"),
    ("store.fields=joints", "store.fields", "must be a list"),
    ("sample=5", "sample", "did you mean 'samples'"),
    ("story.actor.max=5", "story.actor", "did you mean 'story.actors'"),
    ("segments.max=5", "segments", "did you mean 'story.segments'"),
    ("story.maxx=5", "story.maxx", "did you mean 'story.actors.max'"),
    ("left-handed=.5", "left-handed", "did you mean 'population.left_handed'"),
    ("colour=red", "colour", "there are captions, fps, frames, length"),
    ("<<={samples: 5}", "<<", "unknown key"),
    ("samples", "'samples'", "must be KEY=VALUE"),
    ("=5", "'=5'", "must be KEY=VALUE"),
    ("", "''", "must be KEY=VALUE"),
    ("story..max=5", "'story..max=5'", "must be KEY=VALUE"),
    (".samples=5", "'.samples=5'", "must be KEY=VALUE"),
    ("samples.x=5", "samples.x", "samples is 10000, not a group of keys"),
    ("samples=[1", "samples", "'[1': is not valid YAML"),
    ("samples=&a 5", "samples", "anchor"),
    ("samples=!!int 5", "samples", "tag"),
    ("story={layering: 1, layering: 0}", "story", "a second time"),
    ("samples=1\n---\n2", "samples", "another document"),
]


@pytest.mark.parametrize(("override", "key", "reason"), BAD)
def test_bad_values_are_refused_in_one_line_that_names_the_key(override: str, key: str, reason: str) -> None:
    message = message_of("default", [override])
    assert message.startswith(f"--set {key}: ")
    assert reason in message
    assert "\n" not in message


def test_several_problems_have_a_line_each(tmp_path: Path) -> None:
    path = write(tmp_path, "fps: 24\nframes: 1\nstory: {actors: {mx: 2}}\n")
    message = message_of(path, ["seed=-1"], samples=-2)
    lines = dict(line.rsplit(": ", 1) for line in message.splitlines())
    assert list(lines) == [
        "samples",
        "--set seed",
        f"{path}: frames",
        f"{path}: fps",
        f"{path}: story.actors.mx",
    ]


def test_of_many_problems_ten_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path, "\n".join(f"key{number}: 1" for number in range(5000)))
    lines = message_of(path, []).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "and 4,990 more problems"


@pytest.mark.parametrize("content", ["5", "[samples]", "samples", "true"])
def test_a_file_must_be_a_group_of_keys(tmp_path: Path, content: str) -> None:
    path = write(tmp_path, content)
    assert message_of(path, []).startswith(f"{path}: must be a group of keys")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("smok", "unknown preset 'smok', and no file of that name; did you mean 'smoke'?"),
        ("zzz", "there are crowd, default, full, pairs, quotas, smoke"),
        ("", "unknown preset"),
        ("smoke.yaml", "there is no such config file"),
        ("no/such/file", "there is no such config file"),
        (Path("smoke"), "there is no such config file"),
        ("x" * 5000, "unknown preset"),
        ("nul\0byte", "unknown preset"),
    ],
)
def test_unknown_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | Path, reason: str) -> None:
    monkeypatch.chdir(tmp_path)
    message = message_of(source, [])
    assert reason in message
    assert "\n" not in message


def test_a_folder_is_no_config(tmp_path: Path) -> None:
    assert message_of(tmp_path, []) == f"{tmp_path}: is a folder; name a YAML file in it"


def test_strange_keys_stay_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, '"a\\nb": 1\n')
    assert message_of(path, []).startswith(f"{path}: 'a\\nb': unknown key")
    assert len(message_of(write(tmp_path, "k" * 900 + ": 1"), [])) < 500


def test_values_that_are_given_are_checked() -> None:
    assert message_of("default", [], samples=0) == "samples: must be at least 1 (got 0)"
    assert message_of("default", [], sampels=5).startswith("sampels: unknown key; did you mean 'samples'?")
    # The option set a key in a group that is then replaced as a whole, so it is not to blame.
    assert message_of("default", ["store.chunk=7"], store={"chunk": 3}).startswith("store: shard must be")


# What the identity depends on

WHOLE = st.integers(1, 1000)


@given(samples=WHOLE, workers=st.none() | st.integers(1, 64), chunk=st.integers(1, 30), factor=st.integers(1, 30))
def test_identity_does_not_depend_on_how_a_dataset_is_made(samples: int, workers: int | None, chunk: int, factor: int) -> None:
    store = {"shard": chunk * factor, "chunk": chunk, "fields": ["action"]}
    other = Config.model_validate({"name": "other", "samples": samples, "workers": workers, "store": store})
    assert other.identity(NOTHING) == Config().identity(NOTHING)


@given(st.permutations(["seed: 5", "frames: 100", "story: {layering: 1, actors: {max: 2, min: 1}}", "variants: {scale: null}"]))
def test_identity_does_not_depend_on_the_order_of_keys(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    ordered = load_config("default", ["seed=5", "frames=100", "story.layering=1", "story.actors.max=2", "variants.scale=null"])
    path = write(tmp_path_factory.mktemp("order"), "\n# A comment.\n".join(lines))
    assert load_config(path).identity(NOTHING) == ordered.identity(NOTHING)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("frames=250", "frames=250.0"),
        ("frames=250", "frames=2.5e2"),
        ("fps=30", "fps=30.0"),
        ("seed=7", "seed=7.0"),
        ("story.layering=1", "story.layering=1.0"),
        ("story.layering=0", "story.layering=-0.0"),
        ("population.age.min=20", "population.age.min=2e1"),
        ("story.themes={office: 1, park: 2}", "story.themes={park: 2.0, office: 1.0}"),
        ("story.layering=.35", "story={}"),
        ("length=null", "samples=5"),
    ],
)
def test_identity_does_not_depend_on_spelling(one: str, other: str) -> None:
    assert load_config("default", [one]).identity(NOTHING) == load_config("default", [other]).identity(NOTHING)


CONTENT = [
    "seed=1",
    "skeleton=h36m",
    "skeleton=anatomical",
    "population.skeleton_spread=.01",
    "captions.identity=0.5",
    "captions.style=kit",
    "quotas={samples: 9}",
    "quotas={exact: [{samples: 9}]}",
    "quotas={samples: 9, caps: [{samples: 1, female: true}]}",
    "frames=251",
    "fps=30",
    "length={min: 100, max: 250}",
    "variants.speed=null",
    "variants.speed.min=.81",
    "variants.speed.max=1.24",
    "variants.position.max=1",
    "variants.scale.min=.91",
    "variants.scale.max=1.2",
    "variants.mirror=false",
    "population.persons=999",
    "population.female=.4",
    "population.left_handed=.2",
    "population.age.min=19",
    "population.age.max=70",
    "population.styles={neutral: 1, tired: 1}",
    "story.actors.max=2",
    "story.actors={min: 2, max: 2}",
    "story.segments.min=1",
    "story.segments.max=5",
    "story.layering=.3",
    "story.themes={office: 1}",
    "story.actions={walk: 2}",
    "story.interactions.share=.1",
    "story.interactions.weights={hug: 2}",
]


def test_identity_depends_on_all_that_decides_content() -> None:
    found = [load_config("default", [override]).identity(NOTHING) for override in ["samples=5", *CONTENT]]
    assert len(set(found)) == len(CONTENT) + 1
    # Every key of the config is either varied above or known to decide nothing.
    varied = {override.partition("=")[0] for override in CONTENT} | {"length.min", "length.max", "story.actors.min"}
    varied |= {"quotas.samples", "quotas.exact", "quotas.caps"}
    keys = set(keys_of(Config))
    groups = {key for key in keys if any(other.startswith(f"{key}.") for other in keys)}
    free = {key for key in keys if key.split(".")[0] in ("name", "samples", "workers", "store")} | {"story.library"}
    assert keys - groups == (varied | free) - groups


def test_identity_depends_on_the_library() -> None:
    spoken = Library(entries={}, families={}, themes={}, words={"hello": 1})
    same = Library(entries={}, families={}, themes={}, words={"hello": 1.0})
    assert Config().identity(spoken) == Config().identity(same) != Config().identity(NOTHING)


def test_identity_is_the_digest_of_config_and_library() -> None:
    data = Config().as_data()
    for key in NOT_IDENTITY:
        group, _, name = key.rpartition(".")
        del (data[group] if group else data)[name]
    library = load_library()
    expected = digest({"library": library.as_data(), "config": data, "content_version": CONTENT_VERSION})
    assert Config().identity(library) == Config().identity(library) == expected


def test_identity_is_what_it_was() -> None:
    # A new value here means that datasets made before can no longer be extended: raise CONTENT_VERSION with it.
    assert CONTENT_VERSION == 20
    assert Config().identity(NOTHING) == "05c05de5322d89ac547d639aef2b8c9c"


NUMBERS = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
GROUPS = st.dictionaries(st.sampled_from("abcd"), PLAIN, max_size=4)


def respelled(data: Any) -> Any:
    """The same, in another order of keys, whole numbers as floats and the other way round."""
    if isinstance(data, dict):
        keys = list(data)
        random.Random(0).shuffle(keys)
        return {key: respelled(data[key]) for key in keys}
    if isinstance(data, list):
        return [respelled(value) for value in data]
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return data
    if isinstance(data, int):
        return float(data)
    return int(data) if data.is_integer() and abs(data) < 2**53 else data


@given(PLAIN)
def test_spelling_does_not_count(data: object) -> None:
    assert canonical(respelled(data)) == canonical(data)


@given(PLAIN, PLAIN)
def test_other_data_have_another_digest(first: object, second: object) -> None:
    assert (digest(first) == digest(second)) == (canonical(first) == canonical(second))


@given(GROUPS, GROUPS)
def test_differences_are_all_there_is(first: dict[str, Any], second: dict[str, Any]) -> None:
    found = differences(first, second)
    assert [(key, a, b) for key, b, a in found] == sorted(
        differences(second, first), key=lambda item: [key for key, _, _ in found].index(item[0])
    )
    assert not differences(first, first)


def test_differences_by_hand() -> None:
    first = {"a": 1, "b": {"c": None, "d": [1, 2]}, "e": 5}
    second = {"a": 1.0, "b": {"c": {"x": 1}, "d": [2, 1]}, "f": 0}
    assert differences(first, second) == [("b.c", None, {"x": 1}), ("b.d", [1, 2], [2, 1]), ("e", 5, None), ("f", None, 0)]

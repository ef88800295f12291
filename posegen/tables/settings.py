"""Define requests for a model of a table, and define and load its settings. Those that have no effect on it are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from posegen.config.load import apply_overrides, find_config, origin_of_keys, presets
from posegen.config.schema import Flag, Integer, Number
from posegen.embedding.models import DEFAULT
from posegen.foundations.errors import UsageError
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.yaml_files import read_yaml
from posegen.training.run_folder import TABLE_TASK, flatten_settings
from posegen.training.settings import Memory

PRESET = "quick"


class Table(StrictModel):
    """Columns of the table.

    Attributes
    ----------
    label : column that is predicted (--label)
    inputs : columns that the model reads; null: all texts, numbers and vectors beside the label
    target : number or category; null: category if the label is text, a truth value, or 0 and 1
    group : rows with equal values in this column share a split; null: rows with equal inputs do
    encoder : encoder of the texts, a name or a folder; null: words only
    """

    label: str | None = None
    inputs: tuple[str, ...] | None = None
    target: Literal["number", "category"] | None = None
    group: str | None = None
    encoder: str | None = DEFAULT


class TableData(StrictModel):
    """Rows of the table.

    Attributes
    ----------
    samples : number of rows, from the first; null: all
    shuffle_labels : train on the labels of other rows: a control, which must learn nothing
    """

    samples: Annotated[Integer, Field(ge=1)] | None = None
    shuffle_labels: Flag = False


class TableMachine(StrictModel):
    """Use of the machine.

    Attributes
    ----------
    threads : CPU threads; null: all
    """

    threads: Annotated[Integer, Field(ge=1, le=1024)] | None = None


class Tuning(StrictModel):
    """Fine-tuning of the encoder on the label, in the presets balanced and best.

    Attributes
    ----------
    members : encoders whose predictions are averaged; 0: none is fine-tuned
    rank : rank of low-rank adapters that are trained instead of all weights (--lora); null: all weights
    epochs : largest number of passes over the rows
    steps : largest number of steps
    batch : rows per step
    accumulated : parts of a batch whose gradients are accumulated
    rate : highest learning rate; null: 2e-3 for adapters, 1e-4 for all weights
    checks : number of checks on the rows that are left out
    patience : end after this number of checks without improvement; null: never
    tokens : most tokens of a row
    checkpointing : recompute activations instead of storing them
    precision : 32-true, bf16-mixed or 16-mixed; null: the best of the device
    device : cpu or cuda; null: a GPU if there is one
    workers : processes that tokenise
    """

    members: Annotated[Integer, Field(ge=0, le=20)] = 0
    rank: Annotated[Integer, Field(ge=1, le=256)] | None = 32
    epochs: Annotated[Integer, Field(ge=1)] = 16
    steps: Annotated[Integer, Field(ge=1)] = 1500
    batch: Annotated[Integer, Field(ge=1)] = 32
    accumulated: Annotated[Integer, Field(ge=1)] = 1
    rate: Annotated[Number, Field(gt=0)] | None = None
    checks: Annotated[Integer, Field(ge=1)] = 4
    patience: Annotated[Integer, Field(ge=1)] | None = None
    tokens: Annotated[Integer, Field(ge=8)] = 128
    checkpointing: Flag = False
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] | None = None
    device: Literal["cpu", "cuda"] | None = None
    workers: Annotated[Integer, Field(ge=0, le=256)] = 0


class TableSettings(StrictModel):
    """Settings of a model of a table.

    Attributes
    ----------
    seed : random seed
    """

    seed: Annotated[Integer, Field(ge=0, le=2**32 - 1)] = 0
    table: Table = Table()
    data: TableData = TableData()
    machine: TableMachine = TableMachine()
    memory: Memory = Memory()
    tuning: Tuning = Tuning()


@dataclass(frozen=True)
class TableRequest:
    """A request to train a model of a table.

    Attributes
    ----------
    source : Path
    settings : TableSettings
    out : Path or None
        Folder of the run; None for ``runs/table-NAME-PRESET``.
    budget : float or None
        Seconds that the run may take.
    only_estimate : bool
    init : Path or None
        Run whose candidate and settings are used, without comparing others.
    preset : str
        For the name of the folder.
    """

    source: Path
    settings: TableSettings
    out: Path | None = None
    budget: float | None = None
    only_estimate: bool = False
    init: Path | None = None
    preset: str = "quick"

    @property
    def run(self) -> Path:
        """Folder of the run."""
        return Path("runs") / f"{TABLE_TASK}-{self.source.stem}-{Path(self.preset).stem}" if self.out is None else self.out


def load_table_settings(preset: str = PRESET, overrides: Sequence[str] = ()) -> TableSettings:
    """Load the settings of a run on a table.

    Parameters
    ----------
    preset : str
        ``quick``, ``balanced``, ``best``, or the path of a YAML file.
    overrides : sequence of str
        Each ``KEY=VALUE``.

    Raises
    ------
    UsageError
        If the preset is unknown, or a setting has no effect on a table or a wrong value.

    Examples
    --------
    >>> load_table_settings("quick", ["table.label=price"]).table.label
    'price'
    """
    known = {path.stem: path for path in sorted((presets()["default"].parent / "train" / "table").glob("*.yaml"))}
    if preset not in known and not preset.endswith((".yaml", ".yml")):
        raise UsageError(f"--preset {preset}: a table is trained with {', '.join(known)}, or with the path of a YAML file")
    data, origins = apply_overrides(read_yaml(find_config(preset, known)) or {}, overrides)
    settings = validated(TableSettings, data, origin_of_keys(Path(preset), origins))
    idle = [key for key, _ in flatten_settings(data.get("tuning") or {}) if key != "members" and not settings.tuning.members]
    if idle:
        raise UsageError(f"tuning.{idle[0]} has no effect, as no encoder is fine-tuned. Remove it, or use --preset balanced")
    return settings

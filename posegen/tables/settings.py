"""Define and load the settings of a model of a table. Settings that have no effect on it are refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from posegen.config.load import apply_overrides, find_config, origin_of_keys
from posegen.config.schema import Flag, Integer
from posegen.embedding.models import DEFAULT
from posegen.foundations.errors import UsageError
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.yaml_files import read_yaml
from posegen.training.run_folder import flatten_settings
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


def load_table_settings(preset: str = PRESET, overrides: Sequence[str] = ()) -> TableSettings:
    """Load the settings of a run on a table.

    Parameters
    ----------
    preset : str
        ``quick``, or the path of a YAML file.
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
    values: Any = {}
    if preset != PRESET:
        if not preset.endswith((".yaml", ".yml")):
            raise UsageError(f"--preset {preset}: a table is trained with {PRESET}, or with the path of a YAML file")
        values = read_yaml(find_config(preset, {})) or {}
    data, origins = apply_overrides(values, overrides)
    known = [key for key, _ in flatten_settings(TableSettings().model_dump())]
    for key, _ in flatten_settings(data):
        if key not in known and not any(name.startswith(f"{key}.") for name in known):
            raise UsageError(
                f"{origins.get(key, f'{preset}: ')}{key} has no effect on a table. Remove it; a table has {', '.join(known)}"
            )
    return validated(TableSettings, data, origin_of_keys(Path(preset), origins))

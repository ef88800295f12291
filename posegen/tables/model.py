"""The model of a table in the folder of its run: store it, load it, and predict the label of a table's rows.

scikit-learn objects are stored with skops, which runs no code of the file: types other than those below are refused.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash
from pydantic import TypeAdapter

from posegen.dataset.files import write_durably
from posegen.dataset.table_files import read_table, require_parquet
from posegen.dataset.tables import encode_table
from posegen.embedding.cache import encode_texts
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import find_encoder, load_fingerprinted
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.tables.candidates import ALL, Fitted, Found, decode, heated
from posegen.tables.columns import Columns, Rows, read_rows
from posegen.training.run_folder import MODEL, TABLE_TASK, read_checked, read_document, write_document

if TYPE_CHECKING:
    from posegen.tables.tuning import Tuned

OBJECTS = "model.skops"
TRUSTED = ("numpy.dtype", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor")
"""Types in stored models beside those of scikit-learn and NumPy that skops trusts itself."""
_AT_ONCE = 10_000


@dataclass(frozen=True)
class TableModel:
    """A trained model of a table.

    Attributes
    ----------
    columns : Columns
    found : Found
        Result of its cross-validation.
    encoder : str or None
        Fingerprint of the encoder that it reads vectors of.
    fitted : Fitted
    tuned : Tuned or None
        Fine-tuned encoders, whose scores are averaged with those of `fitted`.
    """

    columns: Columns
    found: Found
    encoder: str | None
    fitted: Fitted
    tuned: Tuned | None = None

    def scores(self, rows: Rows) -> Array:
        """Return calibrated probabilities [row, category], or numbers [row, 1] as they are trained, without `tuned`."""
        return heated(self.fitted.scores(rows, self.columns), self.found.temperature)

    def predict(self, scores: Array) -> dict[str, Array]:
        """Return the predicted label of rows with scores by name; of categories also the calibrated ``probability``."""
        if not self.columns.categories:
            return {self.columns.label: decode(scores, self.columns)}
        names = np.array(self.columns.categories, object)[scores.argmax(axis=1)]
        return {self.columns.label: names, "probability": scores.max(axis=1)}


def save_model(run: Path, model: TableModel) -> None:
    """Write a model durably into the folder of its run."""
    from skops.io import dumps

    data = dumps({"parts": model.fitted.parts, "head": model.fitted.head})
    write_durably(run / OBJECTS, data)
    document = {
        "task": TABLE_TASK, "columns": asdict(model.columns), "found": asdict(model.found), "encoder": model.encoder,
        "candidate": model.fitted.candidate.name, "xxh3": xxhash.xxh3_128_hexdigest(data),
        "tuned": None if model.tuned is None else TypeAdapter(type(model.tuned)).dump_python(model.tuned, mode="json"),
    }  # fmt: skip
    write_document(run, MODEL, document)


def load_description(run: Path) -> dict[str, Any]:
    """Return the description of the model of a run.

    Raises
    ------
    UsageError
        If the folder holds no complete run on a table.
    """
    document = read_document(run, MODEL)
    if document is None or document.get("task") != TABLE_TASK:
        raise UsageError(f"{run}: no trained model of a table. Name the folder of a complete run; `posegen runs` lists them")
    return document


def load_model(run: Path) -> TableModel:
    """Load the model of a run.

    Raises
    ------
    UsageError
        If there is none.
    PosegenError
        If its file is damaged, or holds objects that no model consists of.
    """
    from skops.io import loads
    from skops.io.exceptions import UntrustedTypesFoundException

    document, path = load_description(run), run / OBJECTS
    data = read_checked(path, document["xxh3"], f"Remove {run / 'result.json'} and run the training command again")
    try:
        objects = loads(data, trusted=list(TRUSTED))
    except UntrustedTypesFoundException as error:
        raise PosegenError(f"{path}: has objects that no model of posegen has ({error!s:.200}). Train again") from error
    columns = TypeAdapter(Columns).validate_python(document["columns"])
    found = Found(**document["found"])
    fitted = Fitted(ALL[document["candidate"]], objects["parts"], objects["head"])
    tuned = None
    if document["tuned"] is not None:
        from posegen.tables.tuning import Tuned

        tuned = TypeAdapter(Tuned).validate_python(document["tuned"])
    return TableModel(columns, found, document["encoder"], fitted, tuned)


def with_vectors(rows: Rows, encoder: Encoder, progress: Progress) -> Rows:
    """Return rows with the vectors of their texts by an encoder; a missing text has none: zeros."""
    texts = [text for own in rows.texts.values() for text in own]
    # A token has at least one character.
    long = list({text for text in texts if len(text) >= encoder.limit})
    cut = sum(len(tokens) >= encoder.limit for tokens in encoder.backend.prepare(long, as_query=False)) if long else 0
    if cut:
        problem = f"{cut:,} of {len(set(texts)):,} texts reach the limit of {encoder.limit} tokens of {encoder.name}"
        progress.log(f"{problem}; what follows it has no effect on their vectors")
    vectors, _ = encode_texts(texts, encoder, progress)
    vectors[[not text.strip() for text in texts]] = 0
    return replace(rows, encoded=dict(zip(rows.texts, np.split(vectors, max(1, len(rows.texts))), strict=False)))


def predict_table(run: Path, path: Path, out: Path, progress: Progress | None = None) -> int:
    """Write the label that the model of a run predicts for each row of a table, and return the number of rows.

    Parameters
    ----------
    run, path : Path
    out : Path
        Parquet file with the columns ``row``, those that the model reads without vectors, and those of
        :meth:`TableModel.predict`.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the table lacks a column that the model reads, or `out` does not end in .parquet.
    """
    require_parquet(out)
    display, model = progress or Progress(), load_model(run)
    table, columns = read_table(path, display.log), model.columns
    rows = read_rows(table, columns, str(path), display.log)
    if model.encoder is not None:
        encoder = load_fingerprinted(str(path), str(columns.encoder), model.encoder, None, display.log)
        rows = with_vectors(rows, encoder, display)
    with display.working("predict"):
        blocks = np.split(np.arange(len(rows)), range(_AT_ONCE, len(rows), _AT_ONCE))
        scores = np.concatenate([model.scores(rows.take(block)) for block in blocks])
        if model.tuned is not None:
            require_extra("train")
            from posegen.tables.tuning import FOLDER, mixed, tuned_scores

            tuned = find_encoder(str(columns.encoder), notify=display.log)
            scores = mixed(scores, tuned_scores(model.tuned, tuned, run / FOLDER, rows, columns), columns)
    predicted = model.predict(scores)
    kept = (*columns.texts, *columns.numbers, *columns.small)
    own = {name: table[name] for name in kept if name not in predicted}
    write_durably(out, encode_table(pa.table({"row": np.arange(len(table)), **own, **predicted})))
    return len(table)

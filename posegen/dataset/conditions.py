"""Rows of the table of sequences for which an SQL condition holds."""

from __future__ import annotations

import pyarrow as pa

from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import shown

QUALITY = "quality"
"""Derived field that a condition may name like a column: the lowest of the actors of a sequence."""


def matching_rows(table: pa.Table, where: str) -> pa.Table:
    """Return the rows of a table for which an SQL condition holds.

    Parameters
    ----------
    table : pyarrow.Table
    where : str
        Expression on the columns, such as ``duration > 4 AND theme = 'gym'``.

    Raises
    ------
    UsageError
        If DuckDB is not installed, or does not accept the condition.
    """
    require_extra("filter")
    import duckdb

    # A condition may come from elsewhere: it reads the table and nothing else.
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("sequences", table)
        try:
            # Only an expression is accepted here; in the text of a query, a condition could end the query and begin another.
            return connection.view("sequences").filter(where).to_arrow_table()
        except duckdb.Error as error:
            reason, columns = str(error).splitlines()[0].rstrip("!."), ", ".join(table.column_names)
            hint = ""
            if QUALITY in where and QUALITY not in table.column_names:
                hint = f", and {QUALITY} after posegen derive DATASET --add {QUALITY}"
            raise UsageError(f"the condition {shown(where)} cannot be used: {reason}. Columns: {columns}{hint}") from error

"""Query the captions and segments of a dataset with SQL; DuckDB reads the Parquet files, posegen is only needed to generate.

python examples/duckdb_queries.py
"""

import tempfile
from pathlib import Path

import duckdb

import posegen

folder = Path(tempfile.mkdtemp()) / "smoke"
posegen.generate(posegen.load_config("smoke"), workers=2, out=folder)
sequences = f"'{folder}/sequences/*.parquet'"

print("most frequent actions, with their mean duration in seconds")
print(
    duckdb.sql(f"""
    WITH segments AS (SELECT unnest(actors[1].segments) AS segment FROM {sequences} WHERE variant = 'base')
    SELECT segment.action AS action, count(*) AS segments, round(avg(segment."end" - segment.start) / 25, 1) AS seconds
    FROM segments GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5
""")
)

print("captions of fast sequences")
print(
    duckdb.sql(f"""
    SELECT sample, variant, captions[1].text AS caption
    FROM {sequences} WHERE list_max([s.speed FOR s IN actors[1].segments]) > 1.5 ORDER BY sample, variant LIMIT 5
""")
)

print("captions that state a side")
print(
    duckdb.sql(f"""
    WITH texts AS (SELECT sample, unnest(captions) AS caption FROM {sequences} WHERE variant = 'base')
    SELECT sample, caption.text AS caption FROM texts
    WHERE len([s FOR s IN caption.statements IF s.kind = 'side']) > 0 ORDER BY sample LIMIT 5
""")
)

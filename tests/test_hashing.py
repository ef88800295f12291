from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from posegen.foundations.hashing import canonical, content_hashes
from tests import naive

arrays = hnp.arrays(
    st.sampled_from(["float16", "float32", "float64", "<u2", ">u2", ">f4", "int64", "uint8"]),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5),
)


@given(arrays)
def test_canonical_equals_the_naive_one_and_changes_nothing(array: np.ndarray[Any, Any]) -> None:
    before = array.tobytes()
    assert canonical(array).tobytes() == naive.canonical(array).tobytes()
    assert array.tobytes() == before
    assert canonical(array).shape == array.shape


def test_the_hash_is_that_of_little_endian_values_in_c_order() -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = [xxhash.xxh3_128_hexdigest(sample.astype("<f4").tobytes()) for sample in array]
    assert content_hashes(canonical(array)) == "".join(expected)
    assert content_hashes(canonical(np.array([7, 8], ">u2"))) == "".join(
        xxhash.xxh3_128_hexdigest(bytes([value, 0])) for value in (7, 8)
    )


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_negative_zero_and_all_nans_are_one(kind: str) -> None:
    unsigned = f"u{np.dtype(kind).itemsize}"
    payload = np.array(np.array(np.nan, kind).view(unsigned) + 5, unsigned).view(kind)
    odd = np.array([[-0.0, 1, payload], [0.0, 1, -np.nan]], kind)
    hashes = content_hashes(canonical(odd))
    assert hashes[:32] == hashes[32:]
    assert not np.signbit(canonical(odd)[:, :2]).any()


@given(arrays.filter(lambda array: array.size > 0 and len(array) > 1), st.data())
def test_one_changed_value_changes_the_hash_of_its_sample_only(array: np.ndarray[Any, Any], data: st.DataObject) -> None:
    plain = canonical(array).copy()
    place = data.draw(st.tuples(*(st.integers(0, size - 1) for size in plain.shape)))
    changed = plain.copy()
    changed[place] = 1 if plain[place] != 1 else 2
    before, after = content_hashes(plain), content_hashes(changed)
    differing = [i for i in range(len(plain)) if before[32 * i : 32 * i + 32] != after[32 * i : 32 * i + 32]]
    assert differing == [place[0]]

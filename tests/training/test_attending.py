"""Attention while a model learns, and afterwards."""

from __future__ import annotations

import pytest
import torch

from posegen.training.resources import matrix_attention


def test_afterwards_attention_is_what_it_was() -> None:
    def in_blocks() -> bool:
        return bool(torch.backends.cuda.flash_sdp_enabled())

    def within(device: str) -> bool:
        with matrix_attention(device):
            return in_blocks()

    before = in_blocks()
    found = within("cpu"), within("cuda")
    with pytest.raises(KeyError), matrix_attention("cpu"):
        raise KeyError
    assert before
    assert found == (False, True)
    assert in_blocks()

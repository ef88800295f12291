"""Attention while a model learns, and afterwards."""

from __future__ import annotations

import pytest
import torch

from posegen.training.hardware.attending import attending_by_products


def test_afterwards_attention_is_what_it_was() -> None:
    def in_blocks() -> bool:
        return bool(torch.backends.cuda.flash_sdp_enabled())

    def within(device: str) -> bool:
        with attending_by_products(device):
            return in_blocks()

    before = in_blocks()
    found = within("cpu"), within("cuda")
    with pytest.raises(KeyError), attending_by_products("cpu"):
        raise KeyError
    assert before
    assert found == (False, True)
    assert in_blocks()

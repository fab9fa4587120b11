"""What fits into this machine."""

from __future__ import annotations

import os

import pytest

from daedal.settings import memory
from daedal.settings.memory import check_fits, machine_bytes, readable_bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (2**20, "1 MiB"),
        (3 * 2**30, "3 GiB"),
        (2**40, "1 TiB"),
        (2**60, "1 EiB"),
        (2**70, "2^70 bytes"),
        (2**94 + 1, "2^94 bytes"),
    ],
)
def test_bytes_for_a_human_reader(count: int, text: str) -> None:
    assert readable_bytes(count) == text


def test_the_machine_has_some_memory() -> None:
    assert 2**26 < machine_bytes() < 2**50


def test_a_machine_that_does_not_say_counts_as_16_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert machine_bytes() == 16 * 2**30


def test_what_fits_passes_and_what_does_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**31)
    check_fits(2**31, "a thing")
    with pytest.raises(
        ValueError, match=r"^a thing takes about 3 GiB of memory, and this machine has 2 GiB; take less$"
    ):
        check_fits(3 * 2**30, "a thing")

"""Amounts in words: by themselves they say what they are of, beside a label they do not say it twice."""

import pytest

from ava.domain.amounts import UNLIMITED, amount, number


@pytest.mark.parametrize(
    ("name", "value", "bare", "whole"),
    [
        ("gpu", 0, "0", "0 GPUs"),
        ("gpu", 1, "1", "1 GPU"),
        ("gpu", UNLIMITED, "no limit", "no limit"),
        ("cpu", 250, "0.25", "0.25 cores"),
        ("cpu", 1000, "1", "1 core"),
        ("cpu", UNLIMITED + 7, "no limit", "no limit"),
        ("memory", 2**29, "512 MiB", "512 MiB"),
        ("memory", 0, "0 GiB", "0 GiB"),
        ("memory", 3 * 2**29, "1.5 GiB", "1.5 GiB"),
        ("memory", 1000, "0.00095 MiB", "0.00095 MiB"),
        ("storage", 10 * 2**40, "10 TiB", "10 TiB"),
        ("storage", 5000 * 2**40, "5000 TiB", "5000 TiB"),
    ],
)
def test_amounts_in_words(name, value, bare, whole):
    assert number(name, value) == bare
    assert amount(name, value) == whole

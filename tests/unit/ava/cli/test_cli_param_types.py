"""Options whose amounts are written for people."""

import click
import pytest

from ava.cli.param_types import CORES, SIZE


def test_sizes_are_bytes_and_cores_are_thousandths() -> None:
    assert [SIZE.convert(text, None, None) for text in ("8GiB", "512 MiB", "7")] == [2**33, 2**29, 7]
    assert [CORES.convert(text, None, None) for text in ("2", "1.5 cores", "500m")] == [2000, 1500, 500]


@pytest.mark.parametrize(
    ("kind", "text", "error"),
    [
        (SIZE, "3 XB", "expected a size such as 8GiB or 512MiB, found '3 XB'"),
        (CORES, "many", "expected a number of cores such as 2, 1.5 or 500m, found 'many'"),
    ],
)
def test_what_is_none_is_reported_with_examples(kind: click.ParamType[int], text: str, error: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        kind.convert(text, None, None)
    assert error in caught.value.message

"""`--env NAME=VALUE`: the value is all that follows the first `=`."""

import pytest

from ava.cli.commands.run import _pairs


@pytest.mark.parametrize(
    "value", ["", "=", "WyIxMC44MC4xMC4wLzI0Il0=", "test=123=hel=lo", "Server=tcp:x,1433;A=b", "'q' \"r\""]
)
def test_a_value_is_kept_whole(value: str) -> None:
    assert dict(_pairs((f"TEST={value}",))) == {"TEST": value}

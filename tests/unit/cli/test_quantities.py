"""Numbers with their nouns: no text of the installer says `1 nodes`."""

import ast
import re

import pytest

from avadm.quantity import quantity
from tests.unit.fakes.roles import ROOT

COUNTED = re.compile(
    "accounts|addresses|artifacts|authorities|checks|clients|devices|disks|errors|findings|gateways|GPUs|hosts|jars|lines"
    "|members|nodes|pods|racks|repetitions|replicas|runs|tasks|workers"
)
LARGE = {
    "components/ceph/checks_daemons.py": {"runs"},
    "operations/upgrade.py": {"runs"},
    "operations/upgrade_ceph.py": {"runs"},
}
"""Here the word is a verb."""


@pytest.mark.parametrize(
    ("number", "words", "wanted"),
    [
        (0, ("node",), "0 nodes"),
        (1, ("node",), "1 node"),
        (2, ("node",), "2 nodes"),
        (1, ("address", "addresses"), "1 address"),
        (2, ("address", "addresses"), "2 addresses"),
    ],
)
def test_a_number_has_its_noun(number, words, wanted):
    assert quantity(number, *words) == wanted


def loose(path):
    """Yield what an f-string puts before a plural: it may be 1."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                found = re.match(r" (?:[a-z]+ )?([A-Za-z]+)\b", text.value)
                bare = value.format_spec is None and value.conversion == -1
                if found and bare and COUNTED.fullmatch(found[1]):
                    yield node.lineno, ast.unparse(value.value), found[1]


def test_numbers_are_never_put_before_a_plural():
    package = ROOT / "installer/avadm"
    found = [
        f"{path.relative_to(package)}:{line}: {value} {noun}"
        for path in sorted(package.rglob("*.py"))
        for line, value, noun in loose(path)
        if noun not in LARGE.get(str(path.relative_to(package)), ()) and not NAMES.fullmatch(value)
    ]
    assert found == []


NAMES = re.compile(r"(.*\.)?(role|name|what|kind|POLICY|have|pods|counts\[0\]\[0\])")
"""Values that are words, not numbers."""

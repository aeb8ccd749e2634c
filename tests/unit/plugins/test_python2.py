"""What runs on nodes is taken by Python 2.7: plug-ins, probes that pass through ssh's stdin, acceptance's tools."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
PATTERNS = (
    "plugins/module*/**/*.py",
    "avadm_node/**/*.py",
    "validation/avadm_validation/tools/*.py",
    "roles/packet_filter/files/avadm-packet-filter",
)
# Programs of nodes that have Kubernetes or logs: Python 3.5 reads them (tests/unit/artifacts/test_node_archives.py).
YOUNG = [
    *ROOT.glob("avadm_node/agents/volumes/*.py"),
    *ROOT.glob("avadm_node/agents/database/*.py"),
    *ROOT.glob("avadm_node/agents/registry/*.py"),
    *(
        ROOT / "avadm_node" / f"{n}.py"
        for n in (
            "agents/balancer",
            "agents/gpu_exporter",
            "agents/logs/watch",
            "agents/pod_targets",
            "kubeapi",
            "serving",
        )
    ),
]
# One tool runs on the controller.
NOT_THERE = {ROOT / "validation/avadm_validation/tools/s3compat.py", *YOUNG}
FILES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern) if path not in NOT_THERE)
YOUNGER = (
    *(ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.YieldFrom, ast.MatMult, ast.Match),
    *(ast.AsyncFunctionDef, ast.Await),
)


def younger(text):
    """Yield what Python 2.7 does not read, as far as it was ever written here: line and what it is."""
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, YOUNGER) or (isinstance(node, ast.Raise) and node.cause):
            yield line, type(node).__name__
        elif isinstance(node, ast.arguments) and (node.kwonlyargs or node.posonlyargs):
            yield line, "an argument by name alone, or by place"
        elif isinstance(node, ast.ClassDef) and not node.bases:
            yield line, "a class without a base, which has no properties there"
        elif getattr(node, "returns", None) is not None or (isinstance(node, ast.arg) and node.annotation):
            yield line, "an annotation"
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and any(
            isinstance(e, ast.Starred) for e in node.elts
        ):
            yield line, "* in a list"
        elif isinstance(node, ast.Dict) and None in node.keys:
            yield line, "** in a dictionary"
        elif isinstance(node, ast.Call):
            given = [isinstance(a, ast.Starred) for a in node.args]
            named = [k.arg is None for k in node.keywords]
            end = ast.get_source_segment(text, node)[:-1].rstrip().endswith(",")
            if any(given[:-1]) or any(named[:-1]) or (end and any(given + named)):
                yield line, "something after * or **"
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.string.lower().startswith("rb"):
            yield token.start[0], "rb before a string"
        if token.type == tokenize.NUMBER and "_" in token.string:
            yield token.start[0], "_ in a number"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_it_has_nothing_that_python_2_does_not_read(path):
    assert list(younger(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        'a = rb"x"', 'a = f"{b}"', "f(*a,)", "f(b, **c,)", "f(*a, b)", "f(**a, b=1)", "[*a]", "{**a}", "a: int = 1",
        "def f(a: int): pass", "def f() -> int: pass", "def f(*, a): pass", "a = 1_000", "raise A from b", "(a := b)",
        "class A: pass",
    ],
)  # fmt: skip
def test_what_python_2_does_not_read_is_found(text):
    assert list(younger(text))


def test_what_python_2_reads_is_not_taken_for_younger():
    assert list(younger("f(a, b=1, *c, **d)\na, = b\nf((a * b,), -c)\nd = br'x'\ne = (a, b,)\n")) == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_it_is_ascii_for_python_2_takes_no_other_byte_without_being_reported_the_encoding(path):
    found = [(n, line) for n, line in enumerate(path.read_text().splitlines(), 1) if not line.isascii()]
    assert found == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("plugins/modules/*.py")), ids=lambda p: p.name)
def test_what_a_module_says_of_itself_is_yaml(path):
    """Ansible reads the description of some before any playbook starts."""
    report = dict(
        re.findall(r'^(DOCUMENTATION|RETURN|EXAMPLES) = r"""(.*?)"""', path.read_text(), re.S | re.M)
    )
    assert yaml.safe_load(report["DOCUMENTATION"])["module"] == path.stem
    assert [yaml.safe_load(text) for text in report.values()]


def test_all_kinds_are_among_them():
    assert {p.parent.name for p in FILES} >= {"modules", "module_utils", "avadm_node", "health", "tools"}

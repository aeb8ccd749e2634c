"""The catalogue of findings: each code is used, with the fields that its texts name, and says what to do."""

import ast
from pathlib import Path
from string import Formatter

import pytest

from avadm.catalogue import CATALOGUE, finding
from avadm.checks.preflight import CHECKS
from avadm.doctor.checks import CHECKS as HEALTH

TOP = Path(__file__).parents[2]
ROOTS = (TOP / "installer/avadm", TOP / "installer/avadm_lab", TOP / "validation/avadm_acceptance")
GIVEN = {"where", "found", "wanted", "host", "severity"}
CALLS = ("finding", "AvadmError.of", "draft.finding", "draft.twice")
"""Calls that name a code first."""
THEIRS = {
    "bootstrap/report.py": "steps of bootstrap name what failed",
    "catalogue.py": "makes them",
    "checks/framework.py": "a check is an entry of its own: its title and its remedy",
    "avadm_acceptance/selection.py": "a suite says what the site lacks for it",
    "platform_users/connect.py": "problem documents of the platform",
    "remote/access.py": "reasons of the connection",
    "site/draft_file.py": "values that `site init` was given",
    "site/source.py": "the reader of YAML",
}
"""Files whose findings say what something else says."""
MADE = ("bgp-peer-", "path-mtu-", "quorum-even-", "quorum-single-", "duplicate-device-")
"""How codes begin of which a call makes the end."""
WITHOUT_REMEDY = {
    "artifact-version",
    "existing-key",
    "host-key",
    "host-key-jump",
    "lab-node",
    "lab-option",
    "lab-subnet",
    "limit",
    "lock-unusable",
    "no-report",
    "password-file-empty",
    "password-file-unreadable",
    "plan-unwritable",
    "pointer-unwritable",
    "restore-time",
    "restore-time-future",
    "restore-time-zone",
    "site-unwritable",
    "unknown-check",
    "unknown-node",
    "unknown-node-kubernetes",
    "unknown-node-ssh",
    "unknown-profile-profile",
    "vault-unusable",
}
"""What is wanted says it."""
TREES = {
    path.relative_to(root if root is ROOTS[0] else root.parent).as_posix(): ast.parse(path.read_text())
    for root in ROOTS
    for path in sorted(root.rglob("*.py"))
}


def calls(*names):
    """Yield file and call of each call of these names."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in names:
                yield path, node


def codes(node):
    """Return the codes that a call names: one, or one of two; none where a variable does."""
    parts = [node.args[0].body, node.args[0].orelse] if isinstance(node.args[0], ast.IfExp) else node.args[:1]
    return [part.value for part in parts if isinstance(part, ast.Constant)]


def fields(code):
    kind = CATALOGUE[code]
    texts = [*Formatter().parse(kind.what), *Formatter().parse(kind.remedy)]
    return {name for _, name, _, _ in texts if name is not None}


def test_each_call_names_a_code_and_gives_the_fields_of_its_texts():
    wrong = []
    for path, node in calls(*CALLS):
        given = {k.arg for k in node.keywords} - GIVEN
        if ast.unparse(node.func) == "draft.twice":
            given = {"value"}
        needed = [fields(code) if code in CATALOGUE else {"a code"} for code in codes(node)]
        if any(not need <= given for need in needed) or (needed and given - set.union(*needed)):
            wrong.append(f"{path}:{node.lineno}")
    assert wrong == []


def test_each_code_is_used():
    texts = {
        node.value
        for path, tree in TREES.items()
        if path != "catalogue.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
    }
    assert {code for code in CATALOGUE if code not in texts and not code.startswith(MADE)} == set()


def test_no_other_code_says_what_a_finding_says():
    assert {path for path, _ in calls("Finding")} == set(THEIRS)


def test_each_code_has_a_remedy_and_its_check_is_one():
    assert {code for code, kind in CATALOGUE.items() if not kind.remedy} == WITHOUT_REMEDY
    assert {code for code, kind in CATALOGUE.items() if kind.check == code} == set()


def test_each_code_stands_once():
    table = next(
        node.value
        for node in TREES["catalogue.py"].body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "CATALOGUE"
    )
    written = [key.value for key in table.keys]
    assert written == sorted(set(written))


def test_checks_of_preflight_and_of_the_doctor_have_an_id_of_their_own():
    for checks in (CHECKS, HEALTH):
        assert len({c.id for c in checks}) == len(checks)
    assert [c.id for c in HEALTH if not c.remedy] == []


def test_a_finding_has_the_texts_of_its_code():
    found = finding("quorum-single-etcd", "site.yml:3", "1: a", "3 or 5 etcd")
    assert (found.check, str(found.severity), found.host) == ("quorum-single", "warning", None)
    assert found.remedy == "Give the role etcd to two more nodes."


def test_a_field_that_is_not_given_is_an_error():
    with pytest.raises(KeyError):
        finding("unknown-phase", name="x")

from pathlib import Path

import pytest

from avadm.artifacts import manifest, patching
from avadm.artifacts.patching import DifferenceError
from avadm.risks.register import register

DIFFERENCE = """\
--- a.txt
+++ a.txt
@@ -2,3 +2,3 @@ around
 two
-three
+THREE
 four
@@ -6 +6,2 @@
 six
+seven
--- /dev/null
+++ new/b.txt
@@ -0,0 +1 @@
+new
"""
BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\n"


def test_a_difference_is_applied(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BEFORE)
    assert patching.apply(DIFFERENCE, tmp_path) == [tmp_path / "a.txt", tmp_path / "new/b.txt"]
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\n"
    assert (tmp_path / "new/b.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (f"zero\n{BEFORE}", "a.txt:2 is 'one', wanted 'two'"),
        ("one\ntwo\n", "a.txt:3 is 'the end', wanted 'three'"),
        (BEFORE.replace("six", "6"), "a.txt:6 is '6', wanted 'six'"),
        ("", "no line 2"),
        (None, "a.txt is not there"),
    ],
)
def test_one_that_does_not_fit_exactly_is_refused(tmp_path: Path, before: str | None, why: str) -> None:
    if before is not None:
        (tmp_path / "a.txt").write_text(before)
    with pytest.raises(DifferenceError, match=why):
        patching.apply(DIFFERENCE, tmp_path)


def test_a_new_file_takes_no_other_ones_place(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BEFORE)
    (tmp_path / "new").mkdir()
    (tmp_path / "new/b.txt").write_text("old\n")
    with pytest.raises(DifferenceError, match="there already"):
        patching.apply(DIFFERENCE, tmp_path)
    with pytest.raises(DifferenceError, match="no file"):
        patching.apply("", tmp_path)


def test_every_difference_of_a_recipe_names_the_hole_that_it_closes() -> None:
    patches = sorted((manifest.FOLDER / "recipes/kubernetes/security").glob("*.patch"))
    assert len(patches) == 14
    known = {id for risk in register() for id in risk.ids}
    for path in patches:
        assert any(id in path.read_text() for id in known), path.name

"""The page of bad input is what its script makes of the tests' data."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

HOME = Path(__file__).resolve().parents[3]


def test_the_page_is_as_generated():
    loader = SourceFileLoader("bad_input", str(HOME / "scripts" / "bad-input"))
    made = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(made)
    assert made.TARGET.read_text(encoding="utf-8") == made.page(), "run scripts/bad-input"

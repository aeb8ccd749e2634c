"""Programs without a suffix (scripts/) as modules."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def load(path):
    """Return the module that a program of this repository is, by its path there."""
    loader = SourceFileLoader(f"loaded {path}", str(ROOT / path))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # a dataclass looks for its own
    loader.exec_module(module)
    return module

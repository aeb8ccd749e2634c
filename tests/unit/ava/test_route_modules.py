"""Each module of routes and of pages is in the list by which it is served: without it its paths answer 404."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

from ava.api import routes
from ava.web import pages


@pytest.mark.parametrize("package", [routes, pages], ids=lambda package: package.__name__)
def test_each_module_with_routes_is_in_all(package: ModuleType) -> None:
    modules = [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    missing = [m.__name__ for m in modules if hasattr(m, "routes") and m not in package.ALL]
    assert not missing, f"add to ALL of {package.__name__}: {missing}"

"""Modules of the platform import each other in one direction, also within a package."""

from graphlib import TopologicalSorter

import grimp


def test_no_module_of_the_platform_imports_itself_through_others() -> None:
    graph = grimp.build_graph("ava", exclude_type_checking_imports=True)
    # Of ``from package import module`` the module alone counts: packages' own files import nothing.
    packages = {name for name in graph.modules if graph.find_children(name)}
    imports = {name: graph.find_modules_directly_imported_by(name) - packages for name in graph.modules}
    TopologicalSorter(imports).prepare()

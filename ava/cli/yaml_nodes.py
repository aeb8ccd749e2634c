"""YAML whose size is bounded before it is built, with the line of every field and the keys that stand twice."""

from __future__ import annotations

from typing import Any

import yaml

MOST_VALUES = 20_000
"""Values of a file with its aliases written out; some lines of nested aliases would stand for billions."""
MOST_LEVELS = 100
"""Levels of nesting; libyaml's parser ends the process at some ten thousand."""


def read(text: str) -> tuple[Any, dict[str, int], list[tuple[str, int, int]]]:
    """Return a document's data, the line of each field by its place, and each key that stands twice.

    Such a key is given as (key, its line, the line where it stood first).

    Raises:
        yaml.YAMLError: where the text is no YAML.
        ValueError: where it stands for too many values, is nested too deeply or contains itself.
    """
    _shallow(text)
    loader = yaml.CSafeLoader(text)
    node = loader.get_single_node()
    if node is None:
        return None, {}, []
    _bounded(node)
    lines: dict[str, int] = {}
    _mark(node, "", lines)
    twice = _twice(node)
    return loader.construct_document(node), lines, twice


def _shallow(text: str) -> None:
    level = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            level += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            level -= 1
        if level > MOST_LEVELS:
            line = event.start_mark.line + 1 if event.start_mark is not None else 0
            raise ValueError(f"line {line} is nested deeper than {MOST_LEVELS} levels")


def _bounded(root: yaml.Node) -> None:
    counts: dict[int, int] = {}
    above: set[int] = set()

    def count(node: yaml.Node) -> int:
        if id(node) in above:
            raise ValueError(f"the value at line {node.start_mark.line + 1} contains itself")
        if id(node) not in counts:
            above.add(id(node))
            counts[id(node)] = 1 + sum(map(count, _inside(node)))
            above.remove(id(node))
        return counts[id(node)]

    if (total := count(root)) > MOST_VALUES:
        raise ValueError(
            f"with its aliases written out it has {total} values; at most {MOST_VALUES} are read"
        )


def _inside(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _twice(root: yaml.Node) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    left, seen = [root], set[int]()
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        left += _inside(node)
        first: dict[tuple[str, str], int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else []:
            name, line = (key.tag, str(key.value)), key.start_mark.line + 1
            if name in first:
                found.append((name[1], line, first[name]))
            first.setdefault(name, line)
    return sorted(found, key=lambda one: one[1])


def _mark(node: yaml.Node, place: str, lines: dict[str, int]) -> None:
    """Note the line of every field."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{place}.{key.value}" if place else str(key.value)
            lines[below] = key.start_mark.line + 1
            _mark(value, below, lines)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines[f"{place}[{i}]"] = value.start_mark.line + 1
            _mark(value, f"{place}[{i}]", lines)

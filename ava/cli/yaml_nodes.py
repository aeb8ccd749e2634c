"""YAML whose size is bounded before it is built, with the line of every field and the keys that stand twice."""

from __future__ import annotations

from typing import Any

import yaml

_TEXT, _NULL, _MERGE = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "null", "merge"))
MOST_VALUES = 20_000
"""Values of a file with its aliases written out; some lines of nested aliases would stand for billions."""
MOST_LEVELS = 100
"""Levels of nesting; libyaml's parser ends the process at some ten thousand."""


def read(text: str, words: str = "") -> tuple[Any, dict[str, int], list[tuple[str, int, int]]]:
    """Return a document's data, the line of each field by its place, and each key that stands twice.

    Such a key is given as (key, its line, the line where it stood first).

    Args:
        text: the document.
        words: a field of the document whose keys and values are taken as they are written: ``3``, ``1.50`` and ``yes`` are text.

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
    if words:
        _as_written(node, words)
    return loader.construct_document(node), lines, twice


def _as_written(root: yaml.Node, field: str) -> None:
    if not isinstance(root, yaml.MappingNode):
        return
    for key, value in root.value:
        if key.value == field and isinstance(value, yaml.MappingNode):
            # New nodes: an alias may stand elsewhere too, as what it is.
            value.value = [(_word(name), _word(one)) for name, one in value.value]


def _word(node: yaml.Node) -> yaml.Node:
    plain = isinstance(node, yaml.ScalarNode) and node.tag not in (_NULL, _MERGE)
    return yaml.ScalarNode(_TEXT, node.value, node.start_mark, node.end_mark) if plain else node


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

"""YAML text to plain data plus the line of every key: the only place that parses a site file.

libyaml (through PyYAML, which ansible-core brings) parses a site of 256 nodes in 0.04 s where a pure Python
parser takes 1 s. A scalar is a number or a truth value only where YAML 1.1 and 1.2 agree, so that ``no``,
``0123`` and ``12:30:00`` (serial numbers look like that) stay text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.events import CollectionEndEvent, CollectionStartEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.site.text import SITE, FileExpectation, plain, read_text

KeyPath = tuple[str | int, ...]


def dotted(path: KeyPath) -> str:
    """Return a key path as people write it: ``nodes[3].devices[0].serial``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{plain(part)}"
    return text


MAX_VALUES = 200_000
"""Values after aliases are expanded: a few lines of nested aliases could otherwise fill the memory."""
MAX_DEPTH = 64
MAX_DIGITS = 40
"""Longer digit strings are names, not numbers."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast where PyYAML has its part in C."""
_STANDARD_TAGS = {f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "bool", "null", "map", "seq")}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | float | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    ".inf": float("inf"),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
}


@dataclass(slots=True)
class Source:
    """A parsed file.

    Attributes:
        name: the file's name as findings show it.
        data: mappings, lists and scalars.
        lines: key path to line, counted from 1.
        findings: what was wrong with the YAML itself.
    """

    name: str
    data: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def has(self, path: KeyPath) -> bool:
        """Whether a key stands in the file; else the model's default holds."""
        return path in self.lines

    def where(self, path: KeyPath = ()) -> str:
        """Return ``FILE:LINE`` of a key, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if (line := self.lines.get(path[:end])) is not None:
                return f"{self.name}:{line}"
        return f"{self.name}:1"

    def place(self, path: KeyPath = ()) -> str:
        """Return ``FILE:LINE KEY``: one line may hold many keys."""
        return f"{self.where(path)} {dotted(path)}".rstrip()


def read(path: Path, wanted: FileExpectation = SITE) -> Source:
    """Read and parse a file.

    Args:
        path: the file.
        wanted: what it should be, for the message where it cannot be read.

    Returns:
        A Source; broken YAML is reported by its findings (``data`` is then None).

    Raises:
        AvadmError: the file cannot be read as text (exit code 2).
    """
    return parse(read_text(path, wanted), path.name)


def parse(text: str, name: str) -> Source:
    """Parse YAML text; never raises for what the text holds."""
    source = Source(name)
    try:
        _limit_depth(text, name)
        root = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        source.findings.append(_syntax(error, name, text))
        return source
    except _TooMuchError as error:
        source.findings.append(error.finding)
        return source
    if root is None:
        source.findings.append(finding("yaml-empty", where=f"{name}:1", found="nothing", wanted="a site"))
        return source
    walk = _Walk(source)
    try:
        source.data = walk.value(root, ())
    except _TooMuchError as error:
        source.findings.append(error.finding)
    return source


def _syntax(error: yaml.YAMLError, name: str, text: str) -> Finding:
    mark, begun = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    context = str(getattr(error, "context", None) or "")
    lines = text.splitlines() or [""]
    # A mark at the very end points behind the last line; the reader looks for the last one.
    number = min(mark.line + 1, len(lines)) if mark else 1
    remedy = "Correct this line or the one above it."
    merge = next((i for i, line in enumerate(lines, 1) if line.startswith(("<<<<<<< ", ">>>>>>> "))), None)
    if merge:
        number = merge
        remedy = "A merge was left half done: keep one of the two versions and remove the marks."
    elif "quoted scalar" in context and begun and "unexpected" in problem:
        number, problem = begun.line + 1, "the quote is never closed"
        remedy = "Close the quote that begins here."
    elif "unknown escape" in problem:
        remedy = "Use single quotes: in double quotes a backslash begins an escape."
    elif "\t" in lines[number - 1]:
        remedy = "Indent with spaces: YAML allows no tabs."
    elif "\u00a0" in "".join(lines[max(0, number - 2) : number]):
        remedy = "Put an ordinary space where a no-break space is, on this line or the one above it."
    elif "flow" in context and begun and begun.line + 1 < number:
        remedy = f"Close the bracket or brace of line {begun.line + 1}, or correct this line."
    found = plain(lines[number - 1].strip() or "end of file")[:80]
    return finding(
        "yaml-syntax",
        where=f"{name}:{number}",
        found=found,
        wanted="valid YAML",
        problem=problem,
        remedy=remedy,
    )


class _TooMuchError(Exception):
    def __init__(self, name: str, line: int, found: str, wanted: str) -> None:
        super().__init__(found)
        self.finding = finding("yaml-too-much", where=f"{name}:{line}", found=found, wanted=wanted)


def _limit_depth(text: str, name: str) -> None:
    """Refuse deep nesting before composing: libyaml's composer recurses until the C stack overflows."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(name, event.start_mark.line + 1 if event.start_mark else 1)
        elif isinstance(event, CollectionEndEvent):
            depth -= 1


def _too_deep(name: str, line: int) -> _TooMuchError:
    return _TooMuchError(name, line, f"more than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")


class _Walk:
    """Turns composed nodes into data, with budgets, and notes lines and what is wrong on the way."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.budget = MAX_VALUES

    def value(self, node: Node, path: KeyPath) -> object:
        line = node.start_mark.line + 1
        self.source.lines.setdefault(path, line)
        self.budget -= 1
        if self.budget < 0:
            found, wanted = f"more than {MAX_VALUES} values", f"at most {MAX_VALUES}"
            raise _TooMuchError(self.source.name, line, found, wanted)
        if len(path) > MAX_DEPTH:
            raise _too_deep(self.source.name, line)
        if node.tag not in _STANDARD_TAGS and node.tag.startswith(("!", "tag:yaml.org,2002:python")):
            self.note(
                "yaml-tag",
                "Tags are not used in a site file.",
                line,
                path,
                node.tag,
                "a plain value",
                "Remove the tag.",
            )
            return None
        if isinstance(node, ScalarNode):
            return _scalar(node)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        assert isinstance(node, MappingNode)  # noqa: S101  there is no fourth kind
        return self.mapping(node, path)

    def mapping(self, node: MappingNode, path: KeyPath) -> dict[str, object]:
        result: dict[str, object] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self.note(
                    "yaml-key",
                    "A key must be a word.",
                    line,
                    path,
                    "a list or mapping",
                    "text",
                    "Correct the key; a value that begins with a brace or a bracket is put in quotes.",
                )
                continue
            key = str(key_node.value)
            if key == "<<" and not key_node.style:
                self.note(
                    "yaml-merge",
                    "Merge keys are not used in a site file.",
                    line,
                    path,
                    "<<",
                    "the keys written out",
                    "Write them out.",
                )
                continue
            if key in first:
                self.note(
                    "duplicate-key",
                    f"The key {key!r} is here twice.",
                    line,
                    (*path, key),
                    f"also on line {first[key]}",
                    "one value for a key",
                    "Remove one of the two.",
                )
                continue
            first[key] = line
            self.source.lines[(*path, key)] = line
            result[key] = self.value(value_node, (*path, key))
        return result

    def note(
        self, check: str, what: str, line: int, path: KeyPath, found: str, wanted: str, remedy: str
    ) -> None:
        where = f"{self.source.name}:{line} {dotted(path)}".rstrip()
        self.source.findings.append(
            Finding(check=check, what=what, where=where, found=found, wanted=wanted, remedy=remedy)
        )


def _scalar(node: ScalarNode) -> object:
    """Resolve a scalar; what is quoted, or text in one of the two versions of YAML, is text."""
    text = str(node.value)
    if node.style or node.tag.endswith(":str"):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text

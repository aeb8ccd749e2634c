"""What is the same in all lines of one kind. Python 2.7 or later."""

import re

# In this order: what differs from line to line of one kind becomes a word that does not.
VARYING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[0-9.,]*(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), "<klog> "),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\"(?:[^\"\\]|\\.){1,200}\""), '"<text>"'),
    (re.compile(r"(?<![\w/])/[\w.@:+-]+(?:/[\w.@:+-]+)+"), "<path>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{6,}\b"), "<hex>"),
    (re.compile(r"(?<![A-Za-z_])\d+(?:\.\d+)?(?=(?:ns|us|ms|s|m|h|B|KiB|MiB|GiB|%)?\b)"), "<n>"),
    (re.compile(r"\s+"), " "),
)


def normalised(text):
    """Return the pattern of a line: the same for all lines of one kind; at most 160 characters."""
    text = text.strip()[:1000]
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text[:160]

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What documents say that a program can compare: layers, links, and how long the README is."""

import os
import re

ARCHITECTURE = "docs/architecture.md"
LAYER = re.compile(r"(\w+(?:, \w+)*)(?: \(src only\))?(?: ─+►|(?= ))(.*)")
LINK = re.compile(r"\]\(([^()\s]+)\)")
MAX_README_WORDS = 1000


def read_documents(root):
    """{path: lines} of the documents of the root, docs, examples and tests."""
    found = {}
    for top in (".", "docs", "examples", "tests", "bench"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [] if top == "." else [f for f in folders if f != "__pycache__"]
            for name in names:
                if name.endswith(".md"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found[os.path.relpath(os.path.join(folder, name), root)] = file.read().splitlines()
    return dict(sorted(found.items()))


def drawn_layers(lines):
    """{layer: (line, the layers that it may include)} of the first drawing: "a, b ──► c, d   what they are"."""
    first = next((i for i, line in enumerate(lines) if line.startswith("```")), len(lines))
    drawn, last = {}, []
    for number, line in enumerate(lines[first + 1:], first + 2):
        if line.startswith("```"):
            break
        match = LAYER.match(line)
        last = match.group(1).split(", ") if match else last  # else the line before goes on
        below = re.split(r" {2,}", (match.group(2) if match else line).strip())[0] if "►" in line or not match else ""
        for name in last:
            drawn.setdefault(name, (number, set()))[1].update(re.findall(r"\w+", below))
    return drawn


def check_layers(documents, arrows, kernels):
    """The drawing of the layers is what ARROWS and `kernels` (its name, what it may include) say."""
    if ARCHITECTURE not in documents:
        return
    drawn = drawn_layers(documents[ARCHITECTURE])
    wanted = {layer: set(below) for layer, below in arrows.items()} | {kernels[0]: set(kernels[1]) - {kernels[0]}}
    for layer, (line, below) in drawn.items():
        if layer not in wanted:
            yield ARCHITECTURE, line, "layers", f"'{layer}' is no layer; ARROWS of tree.py has {', '.join(wanted)}"
        elif below != wanted[layer]:
            yield (ARCHITECTURE, line, "layers", f"{layer} may include {', '.join(sorted(below)) or 'nothing'} here, "
                   f"but {', '.join(sorted(wanted[layer])) or 'nothing'} by ARROWS of tree.py")
    for layer in wanted:
        if layer not in drawn:
            yield ARCHITECTURE, 1, "layers", f"the layer '{layer}' of ARROWS of tree.py is not drawn"


def anchors(lines):
    """The anchors of a document's headings, as GitHub makes them."""
    heads = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", line.lstrip("#").strip()).lower() for line in lines if re.match(r"#+ ", line)]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in heads}


def check_links(root, documents):
    """A link within the repository leads to a file that is there, and to one of its headings."""
    for path, lines in documents.items():
        for number, line in enumerate(lines, 1):
            for link in LINK.findall(line):
                if re.match(r"\w+:", link):
                    continue
                place, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(path), place)) if place else path
                if not os.path.exists(os.path.join(root, target)):
                    yield path, number, "links", f"{link}: there is no {target}"
                elif anchor and target in documents and anchor not in anchors(documents[target]):
                    yield path, number, "links", f"{link}: {target} has no heading of this name"


def check_readme(documents):
    words = sum(len(line.split()) for line in documents.get("README.md", []))
    if words > MAX_README_WORDS:
        yield "README.md", 1, "readme", f"{words} words, but at most {MAX_README_WORDS} are allowed; move some to docs/"


def violations(root, arrows, kernels):
    """[(path, line, rule, message)] of all documents of a tree."""
    documents = read_documents(root)
    return [*check_layers(documents, arrows, kernels), *check_links(root, documents), *check_readme(documents)]

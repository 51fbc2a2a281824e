# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Which files pair: a public function is defined in the source that has the name of its header, and an op has one name
in all folders.

usage: pairing.py [ROOT]   prints what does not pair
"""

import os
import re
import sys

import cpp_text
from tree import read_tree

# Kernels that no op is named after: ops of several families are made of them.
BUILDING_BLOCKS = {"fill", "gemm", "integer_bounds", "map", "view"}

KERNEL = re.compile(r'^#include "kernels/(\w+)\.hpp"')

NO_FUNCTION = re.compile(r"(using|typedef|static_assert|friend|extern|return|TANDEM_\w+|template(?!\s*<))\b")
OPERATOR = re.compile(r"((?:\w+::)*operator\s*(?:\(\)|[^\s\w(]+|[\w:]+))\s*\(")
TYPE = re.compile(r"\b(?:class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)")
DEFAULT = re.compile(r"\s*=.*$", re.DOTALL)
PARAMETER_NAME = re.compile(r"(?<=[\w>&*])\s+\w+$|(?<=[>&*])\w+$")


def matching(text, start, opening, closing):
    """The place of the bracket that closes the one at `start`; the end of `text` if there is none."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return at
    return len(text)


def without_nested_braces(text):
    """`text` with braces and semicolons in parentheses blanked, so that defaults like `= {}` open no scope."""
    depth, result = 0, []
    for character in cpp_text.without_comments(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        result.append(" " if depth and character in "{};" else character)
    return "".join(result)


def split_parameters(text):
    """The parameters' types of "const T& a, int b = 2": names and defaults go."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    types = (PARAMETER_NAME.sub("", DEFAULT.sub("", part).strip()) for part in parts)
    return ",".join(re.sub(r"\s+", "", one) for one in types)


def function_of(statement):
    """(name with qualifiers, types of parameters) of a function's declaration or head; None for anything else."""
    statement = " ".join(statement.split())
    statement = re.sub(r"^(template\s*<.*?>\s*(?=[\w\[:]))+", "", statement)
    if NO_FUNCTION.match(statement):
        return None
    match = OPERATOR.search(statement)
    if match:
        name, start = match.group(1), match.end() - 1
    else:
        depth, start = 0, -1
        for at, character in enumerate(statement):
            depth += (character == "<") - (character == ">")
            if character == "(" and depth == 0:
                start = at
                break
        match = re.search(r"([\w:~]+)\s*$", statement[:start]) if start > 0 else None
        if not match or "=" in statement[:start]:
            return None
        name = match.group(1)
    return name, split_parameters(statement[start + 1:matching(statement, start, "(", ")")])


def scope_of(head):
    """("namespace" | "type" | "block", name); the name of an unnamed namespace is empty."""
    kind = cpp_text.kind_of(head)
    if kind == "namespace":
        match = re.search(r"\bnamespace\s+([\w:]+)", head)
        return kind, match.group(1) if match else ""
    match = TYPE.search(head) if kind == "type" else None
    return (kind, match.group(1)) if match else ("block", "")


def declared(text):
    """Yields (qualified name, parameters) of each function that a header declares, and (type, None) of each class."""
    for _, statement, end, scopes in cpp_text.scan(without_nested_braces(text), scope_of):
        names = "::".join(name for _, name in scopes)
        if any(kind == "block" or not name for kind, name in scopes):
            continue
        kind, name = scope_of(statement)
        if end == "{" and kind == "type":
            yield f"{names}::{name}", None
        elif end == ";" and all(kind == "namespace" for kind, _ in scopes):
            function = function_of(statement)
            if function:
                yield f"{names}::{function[0]}", function[1]


def defined(text):
    """Yields (line, qualified name, parameters) of each function that a source defines outside of unnamed namespaces."""
    for line, statement, end, scopes in cpp_text.scan(without_nested_braces(text), scope_of):
        if any(kind != "namespace" or not name for kind, name in scopes):
            continue
        defaulted = end == ";" and re.search(r"=\s*default$", statement)
        function = function_of(statement) if end == "{" or defaulted else None
        if function:
            names = "::".join(name for _, name in scopes)
            yield line, f"{names}::{function[0]}", function[1]


def unpaired(sources):
    """Yields (layer, source, line, name, header) for each function of a public header that another source defines."""
    functions, classes = {}, {}  # {(layer, name, parameters): headers}, {(layer, name): headers}
    for source in sources:
        if source.is_public and source.layer and source.suffix == ".hpp":
            for name, types in declared("\n".join(source.lines)):
                if types is None:
                    classes.setdefault((source.layer, name), []).append(source)
                else:
                    functions.setdefault((source.layer, name, types), []).append(source)
    for source in sources:
        if source.place[0] != "src" or source.suffix not in (".cpp", ".cu"):
            continue
        for line, name, types in defined("\n".join(source.lines)):
            headers = functions.get((source.layer, name, types)) or classes.get((source.layer, name.rpartition("::")[0])) or []
            if headers and source.stem not in {header.stem for header in headers}:
                yield source, line, name.removeprefix("tandem::"), headers[0]


def check_pairs(sources):
    for source, line, name, header in unpaired(sources):
        yield (source.path, line, "pair",
               f"{name} is declared in {header.place[-1]}: define it in {header.stem}.cpp, or declare it in {source.stem}.hpp")


def check_families(sources):
    """An op's header has a source and a test of its name, and an op's kernel has the name of the op.

    A test of another name is about several ops: that is how the two are told apart.
    """
    paths = {source.path for source in sources}
    for source in sources:
        if source.path.startswith("include/tandem/ops/"):
            for path in (f"src/ops/{source.stem}.cpp", f"tests/ops/{source.stem}_test.cpp"):
                if path not in paths:
                    yield source.path, 1, "family", f"{path} is missing: an op has one name in all folders"
        elif source.path.startswith("src/ops/"):
            for number, line in enumerate(source.lines, 1):
                match = KERNEL.match(line)
                name = match.group(1) if match else None
                if name and name not in BUILDING_BLOCKS and f"src/ops/{name}.cpp" not in paths:
                    yield (source.path, number, "family",
                           f"no op is named {name}: name the kernel after its op, or in BUILDING_BLOCKS of pairing.py")
        elif source.path.startswith("src/kernels/") and source.suffix == ".cu":
            for path in (f"src/kernels/{source.stem}.hpp", f"src/kernels/{source.stem}.cpp"):
                if path not in paths:
                    yield source.path, 1, "family", f"{path} is missing: a kernel has one name on all backends"


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(__file__), "..", "..")
    for source, line, name, header in unpaired(read_tree(root)):
        print(f"{source.path}:{line}: {name} is declared in {header.path}")


if __name__ == "__main__":
    main(sys.argv[1:])

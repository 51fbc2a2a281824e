# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Which types a header declares forward: a type of a layer that it may not include is a back door to that layer."""

import re

import cpp_text
import pairing

DECLARATION = re.compile(r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)(?:\s*:\s*[\w:]+)?", re.DOTALL)
MAY_DECLARE = re.compile(r"\b(?:class|struct|union|enum)\s+\w+[^;{}()=]*;")


def declared_forward(text):
    """Yields (line, qualified name) of each type that a header declares in a namespace and does not define there."""
    if not MAY_DECLARE.search(text):
        return
    for line, statement, end, scopes in cpp_text.scan(text, pairing.scope_of):
        match = DECLARATION.fullmatch(statement) if end == ";" else None
        if match and all(kind == "namespace" and name for kind, name in scopes):
            yield line, "::".join([*(name for _, name in scopes), match.group(1)])


def definitions(sources, names):
    """{qualified name: the layers that define the type}, for types of these names."""
    shorts = {name.rpartition("::")[2] for name in names}
    mention = re.compile(rf"\b(?:class|struct|union|enum)\s+(?:{'|'.join(shorts)})\b[^;]*\{{") if shorts else None
    found = {}
    for source in sources:
        text = "\n".join(source.lines)
        if not source.is_cpp or not source.layer or not mention or not mention.search(text):
            continue
        for name, types in pairing.declared(text):
            if types is None and name in names:
                found.setdefault(name, set()).add(source.layer)
    return found


def check_forward(sources, may_include):
    """No header declares a type of a layer that its own may not include. @param may_include  {layer: layers}"""
    declared = []
    for source in sources:
        if source.is_cpp and source.suffix not in (".cpp", ".cu") and source.layer in may_include:
            declared += [(source, line, name) for line, name in declared_forward("\n".join(source.lines))]
    layers_of = definitions(sources, {name for _, _, name in declared})
    for source, line, name in declared:
        layers = layers_of.get(name, set())
        if layers and not layers & (may_include[source.layer] | {source.layer}):
            yield (source.path, line, "forward",
                   f"{name.removeprefix('tandem::')} is a type of {', '.join(sorted(layers))}, which {source.layer} may not "
                   "include: let the upper layer derive from a type of this one")

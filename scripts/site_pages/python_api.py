# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of Python: the names of each public module, as its sources and stubs declare and describe them."""

import ast
import inspect
import re
import textwrap

PACKAGE = "python/tandem"
NAMED = re.compile(r"(\**\w+(?:, \**\w+)*) {2,}(\S[^\n]*)")  # "module      what it is"
MODULES = ("tandem", "tandem.parallel", "tandem.gpu_memory")  # which name what is public in __all__


def file_of(root, module):
    """The source of a module, or the stub of one that is compiled."""
    base = root / "python" / module.replace(".", "/")
    for path in (base / "__init__.py", base.with_suffix(".py"), base.with_suffix(".pyi")):
        if path.exists():
            return path
    raise SystemExit(f"site: the Python package has no source or stub of {module}")


def public(tree):
    """The names in a module's __all__."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    raise SystemExit("site: a public module of the Python package has no __all__")


def declaration(root, module, name):
    """(module, node) where a public name is declared, also where it is imported from."""
    tree = ast.parse(file_of(root, module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tandem"):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return declaration(root, node.module, alias.name)
    raise SystemExit(f"site: {module} names '{name}' in __all__, and no source or stub declares it")


def arguments(function, drop_first):
    text = function.args
    if drop_first:
        text = ast.parse(f"def f({ast.unparse(text)}): ...").body[0].args
        (text.posonlyargs or text.args).pop(0)
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({ast.unparse(text)}){result}"


def doc(node):
    """A docstring as Markdown: a table of names and what they are becomes a list."""
    paragraphs = inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")
    return "\n\n".join(listed(text) if NAMED.match(text) else text for text in paragraphs)


def listed(text):
    items = []
    for line in text.splitlines():
        found = NAMED.match(line)
        if found:
            items.append(f"- `{found[1]}`: {found[2]}")
        else:
            items[-1] += " " + line.strip()
    return "\n".join(items)


def directive(kind, signature, body, depth):
    marks = "`" * (6 - depth)
    return f"{marks}{{py:{kind}}} {' '.join(signature.split())}\n\n{body}\n{marks}\n"


def is_public(node):
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def decorators(node):
    return {ast.unparse(one) for one in node.decorator_list}


def methods(node):
    for item in node.body:
        if not is_public(item) or any(one.endswith((".setter", "overload")) for one in decorators(item)):
            continue
        if "property" in decorators(item):
            kind = f":type: {ast.unparse(item.returns)}\n\n" if item.returns else ""
            yield directive("property", item.name, kind + doc(item), 1)
        else:
            static = "staticmethod" in decorators(item)
            yield directive("method", item.name + arguments(item, not static), (":static:\n\n" if static else "") + doc(item), 1)


def entry(name, node):
    """The declaration of a function or class, as a directive of Sphinx."""
    if isinstance(node, ast.FunctionDef):
        return directive("function", name + arguments(node, False), doc(node), 0)
    start = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    bases = [ast.unparse(base) for base in node.bases]
    parts = [f"Bases: {', '.join(f'`{base}`' for base in bases)}"] if bases else []
    parts += [doc(node), doc(start) if start else "", *methods(node)]
    signature = name + (arguments(start, True).removesuffix(" -> None") if start else "")
    return directive("class", signature, "\n\n".join(part for part in parts if part), 0)


def write_pages(stage):
    tree = "\n".join(MODULES)
    rows = []
    for module in MODULES:
        parsed = ast.parse(file_of(stage.root, module).read_text(encoding="utf-8"))
        entries = "\n".join(entry(name, declaration(stage.root, module, name)) for name in sorted(public(parsed), key=str.lower))
        about = doc(parsed)
        rows.append(f"| [{module}]({module}.md) | {about.splitlines()[0]} |")
        stage.write(f"api/python/{module}.md", f"# {module}\n\n{textwrap.dedent(about)}\n\n```{{py:module}} {module}\n```\n\n{entries}")
    stage.write("api/python/index.md", "# Reference of Python\n\n[Programs of PyTorch](../../docs/pytorch.md) says how the parts work "
                "together.\n\n| module | what it has |\n|---|---|\n" + "\n".join(rows) + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")

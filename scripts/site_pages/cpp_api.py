# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of C++: what the public headers say, a page for each folder of include/tandem.

Doxygen reads the headers. Its XML is written as Markdown here: Breathe needs two minutes of processor for what takes one second so."""

import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from .stage import fence

DOXYFILE = pathlib.Path(__file__).resolve().with_name("Doxyfile")
CLASSES = {"class", "struct", "union"}
SHOWN = re.compile(r"(public-.*|func|enum|typedef|var|define|user-defined)$")
LISTS = {"param": "Parameters", "templateparam": "Template parameters", "exception": "Throws", "retval": "Returns"}


def extract(root, folder):
    """Has Doxygen write the headers' declarations and comments to a folder, as XML; returns its documents."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = f'{DOXYFILE.read_text(encoding="utf-8")}\nINPUT = "{root}/include"\nSTRIP_FROM_PATH = "{root}/include"\n' \
               f'OUTPUT_DIRECTORY = "{folder}"\n'
    done = subprocess.run(["doxygen", "-"], input=settings, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"site: doxygen found faults in comments of include/:\n{done.stderr.strip()}")
    return [node for path in sorted((folder / "xml").glob("*.xml")) for node in ElementTree.parse(path).iter("compounddef")]


def text_of(node):
    return "" if node is None else " ".join("".join(node.itertext()).split())


def inline(node):
    """The words of a paragraph as Markdown, and the blocks in it."""
    parts = [escaped(node.text)]
    for child in node:
        if child.tag == "computeroutput":
            parts.append(f"`{text_of(child)}`")
        elif child.tag in ("verbatim", "preformatted"):
            parts.append(f"\n\n{fence(dedented(''.join(child.itertext())), 'cpp')}\n")
        elif child.tag == "parameterlist":
            parts.append(f"\n\n{parameters(child)}\n\n")
        elif child.tag == "simplesect":
            title = child.find("title")
            name = text_of(title) if title is not None else child.get("kind").capitalize() + "s"
            parts.append(f"\n\n**{name}:** {' '.join(inline(para).strip() for para in child.findall('para'))}\n\n")
        elif child.tag == "itemizedlist":
            parts.append("\n\n" + "\n".join(f"- {' '.join(inline(item).split())}" for item in child.iter("listitem")) + "\n\n")
        elif child.tag == "ndash":
            parts.append("–")
        else:  # para, ref, ulink and what else has words
            parts.append(inline(child))
        parts.append(escaped(child.tail))
    return "".join(parts)


def escaped(text):
    return re.sub(r"([\\*_\[\]<>`#|])", r"\\\1", text or "")


def dedented(text):
    lines = text.strip("\n").splitlines()
    cut = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[cut:] for line in lines)


def parameters(node):
    items = []
    for item in node.findall("parameteritem"):
        names = ", ".join(f"`{text_of(name)}`" for name in item.iter("parametername"))
        items.append(f"- {names}: {' '.join(inline(item.find('parameterdescription')).split())}")
    return f"**{LISTS[node.get('kind')]}:**\n\n" + "\n".join(items)


def about(node):
    """The comment above a declaration."""
    parts = [inline(para).strip() for tag in ("briefdescription", "detaileddescription") for para in node.find(tag).findall("para")]
    return "\n\n".join(part for part in parts if part)


def template(node):
    head = node.find("templateparamlist")
    if head is None:
        return ""
    names = ", ".join(" ".join(filter(None, (text_of(one.find("type")), text_of(one.find("declname"))))) for one in head.findall("param"))
    return f"template <{names}>\n"


def declaration(member):
    """A member as it would be written, with what it takes and gives."""
    kind, name = member.get("kind"), text_of(member.find("name"))
    if kind == "enum":
        values = ", ".join(text_of(value.find("name")) for value in member.findall("enumvalue"))
        return f"enum class {name} {{ {values} }};"
    if kind == "define":
        names = ", ".join(text_of(one) for one in member.findall("param"))
        return f"#define {name}({names})" if names else f"#define {name}"
    if kind == "typedef":
        return f"{template(member)}{text_of(member.find('definition'))};"
    result, initial = text_of(member.find("type")), text_of(member.find("initializer"))
    words = [word for word, on in (("static", member.get("static") == "yes"), ("explicit", member.get("explicit") == "yes")) if on]
    words += [result] if result else []
    tail = f" {initial}" if kind == "variable" and initial and len(initial) < 60 else ""
    return f"{template(member)}{tidy(' '.join([*words, name]) + text_of(member.find('argsstring')))}{tail};"


def tidy(text):
    """A declaration without the blanks that Doxygen puts around < > & *."""
    text = re.sub(r"(?<!operator) ?< | >(?=[>&*, )(:]|$)", lambda found: found[0].strip(), text)
    return re.sub(r" ([&*]+)(\w)?", lambda found: found[1] + (" " + found[2] if found[2] else ""), text)


def members(node, header=None):
    """The public members of a class, or those of a namespace that a header declares."""
    for part in node.findall("sectiondef"):
        if SHOWN.match(part.get("kind")):
            for member in part.findall("memberdef"):
                if header is None or member.find("location").get("file") == header:
                    yield member


def enumerators(member):
    lines = [f"- `{text_of(value.find('name'))}`: {' '.join(about(value).split())}" for value in member.findall("enumvalue") if about(value)]
    return "\n".join(lines) + "\n\n" if lines else ""


def entries(found):
    """What a page says of members: those without a comment share a block with the next one."""
    plain = []
    for member in found:
        if text_of(member.find("argsstring")).endswith("=delete"):
            continue
        plain.append(declaration(member))
        if about(member) or enumerators(member):
            yield f"{fence(chr(10).join(plain), 'cpp')}\n{about(member)}\n\n{enumerators(member)}"
            plain = []
    if plain:
        yield f"{fence(chr(10).join(plain), 'cpp')}\n"


def class_entry(node):
    name, kind = text_of(node.find("compoundname")), node.get("kind")
    bases = ", ".join(text_of(base) for base in node.findall("basecompoundref") if base.get("prot") == "public")
    head = f"{template(node)}{kind} {name}{' : public ' + bases if bases else ''};"
    body = "".join(f'\n<div class="member">\n\n{part}</div>\n' for part in entries(members(node)))
    return f"### {escaped(name.removeprefix('tandem::'))}\n\n{fence(head, 'cpp')}\n{about(node)}\n{body}\n"


def header_entry(header, documents):
    """All that a header declares, under its name; nothing if it declares nothing public."""
    parts = [class_entry(node) for node in documents if node.get("kind") in CLASSES and node.get("prot") != "private"
             and node.find("location").get("file") == header]
    named = {}
    for node in documents:
        if node.get("kind") in ("namespace", "file"):
            for member in members(node, header):
                if node.get("kind") == "namespace" or member.get("kind") == "define":
                    space = text_of(node.find("compoundname")).removeprefix("tandem").removeprefix("::") + "::"
                    title = ("" if member.get("kind") == "define" or space == "::" else space) + text_of(member.find("name"))
                    named.setdefault(title, []).append(member)
    parts += [f"### {escaped(title)}\n\n{''.join(entries(found))}" for title, found in named.items()]
    return f"## {escaped(header)}\n\n" + "\n".join(parts) if parts else ""


def headers(root):
    """{folder of include/tandem: its public headers}"""
    include, found = root / "include", {}
    for path in sorted((include / "tandem").glob("*/**/*.hpp")):
        name = path.relative_to(include)
        if not {"detail", "kernels"} & set(name.parts):
            found.setdefault(name.parts[1], []).append(str(name))
    return found


def write_pages(stage, documents):
    rows, layers = [], headers(stage.root)
    for layer, names in layers.items():
        stage.write(f"api/cpp/{layer}.md", f"# {layer}\n\n" + "\n".join(header_entry(name, documents) for name in names))
        rows.append(f"| [{layer}]({layer}.md) | {', '.join(f'`{pathlib.Path(name).name}`' for name in names)} |")
    tree = "\n".join(layers)
    stage.write("api/cpp/index.md", "# Reference of C++\n\nEach page has the public headers of one folder of `include/tandem`; "
                "`#include <tandem/tandem.hpp>` takes all but those of `libtorch`.\n\n"
                "| folder | headers |\n|---|---|\n" + "\n".join(rows) + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Names of kernels that people can read: each<MapElement<Add, f32>> for 200 mangled characters.

A name is a tree: a head and its template arguments. The family of a kernel is its name without types of numbers and without
values, so that the instances of one template are one row of a table.
"""

import re
import subprocess
from dataclasses import dataclass, field

SCALARS = {"bool": "bool", "char": "i8", "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16",
           "int": "i32", "unsigned int": "u32", "long": "i64", "unsigned long": "u64", "long long": "i64",
           "unsigned long long": "u64", "float": "f32", "double": "f64", "Half": "f16", "BFloat16": "bf16"}
OURS = "tandem::"
VALUE = re.compile(r"(\(\w[\w: ]*\))?-?\d+u?l*|true|false")  # (tandem::Side)1


@dataclass
class Name:
    head: str
    arguments: list = field(default_factory=list)

    @property
    def is_library(self):
        """Whether it is of CUB or Thrust and has to do with none of ours."""
        return OURS not in self.head and re.match(r"(cub|thrust|cuda|std)::", self.head) is not None

    @property
    def short(self):
        head = self.head.removesuffix(" const").removesuffix("*").strip().split("::")[-1]
        return SCALARS.get(head, head)

    @property
    def is_number(self):
        return self.short in SCALARS.values() or VALUE.fullmatch(self.head) is not None


def split(text):
    """The parts of a list in C++, separated by commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "<({[") - (c in ">)}]")
        if c == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def end_of_arguments(text, start):
    """The place behind the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "<({[") - (text[at] in ">)}]")
        if depth == 0:
            return at + 1
    return len(text)


def parse(text):
    """The tree of a type, or of a function without its parameters and what it returns."""
    start = text.find("<")
    if start < 0:
        return Name(text.split("(")[0].strip() if not text.startswith("(") else text.strip())
    end = end_of_arguments(text, start)
    head, rest = text[:start].strip(), text[end:]
    if rest.startswith("::"):  # a member of a template
        inner = parse(rest)
        return Name(head + inner.head, [parse(a) for a in split(text[start + 1:end - 1])] + inner.arguments)
    return Name(head, [parse(a) for a in split(text[start + 1:end - 1])])


def mentions_ours(name):
    return OURS in name.head or any(map(mentions_ours, name.arguments))


def simplified(name):
    """Without what a library adds: its arguments that are not made of ours, and std::integral_constant around a value."""
    if name.head == "std::integral_constant" and len(name.arguments) == 2:
        return name.arguments[1]
    arguments = name.arguments
    if name.is_library and mentions_ours(name):
        arguments = [a for a in arguments if mentions_ours(a)]
    return Name(name.head, [simplified(a) for a in arguments])


def show(name):
    if VALUE.fullmatch(name.head):
        value = re.sub(r"^\(.*\)|u?l*$", "", name.head)
        return {"(bool)0": "false", "(bool)1": "true"}.get(name.head, value)
    arguments = ", ".join(map(show, name.arguments))
    return f"{name.short}<{arguments}>" if arguments else name.short


def family_of(name):
    return Name(name.head, [family_of(a) for a in name.arguments if not a.is_number])


def demangle(mangled):
    """The names as C++ has them, by c++filt."""
    done = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def without_return_type(text):
    """A demangled template has its return type in front."""
    depth = 0
    for at, c in enumerate(text):
        depth += (c in "<({[") - (c in ">)}]")
        if c == " " and depth == 0:
            return text[at + 1:]
        if c == "(" and depth == 1:
            break
    return text


def readable(demangled):
    """(name, family)"""
    text = demangled.replace("(anonymous namespace)::", "")
    tree = simplified(parse(without_return_type(text)))
    return show(tree), show(family_of(tree))

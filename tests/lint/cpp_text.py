# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Reads C++ as text, as far as the lint needs it: no comments, no strings, and which brace opens what."""

import re

MUTEX = r"(?:std\s*::\s*)?(?:recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex"
# A declaration `... mutex name`, neither a template argument (lock_guard<std::mutex>) nor a reference or a parameter.
MUTEX_DECLARATION = re.compile(
    rf"^(?P<before>(?:[\w:\[\]]+\s+)*?){MUTEX}\s+\w+(?:\s*\[[^\]]*\])?\s*(?:=.*|\{{.*)?$", re.DOTALL)
SHARED = {"static", "inline", "constinit", "extern"}

COMMENT_OR_STRING = re.compile(
    r"""//[^\n]* | /\*.*?\*/
      | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*" | (?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def without_comments(text):
    """`text` with comments, literals and preprocessor lines blanked; line numbers stay."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return DIRECTIVE.sub(blank, COMMENT_OR_STRING.sub(blank, text))


def scan(text, kind):
    """Yields (line, statement, end, scopes) for each statement and each head of a brace.

    `end` is the character that ends it: "{", "}" or ";". `scopes` are what `kind` says of the heads of the braces
    around it, outermost first.
    """
    text = without_comments(text)
    scopes, start, line, first = [], 0, 1, 1
    for at, character in enumerate(text):
        if text[start:at].strip() == "":
            first = line
        if character == "\n":
            line += 1
        if character not in "{};":
            continue
        statement = text[start:at].strip()
        if statement:
            yield first, statement, character, tuple(scopes)
        if character == "{":
            scopes.append(kind(statement))
        elif character == "}" and scopes:
            scopes.pop()
        start = at + 1


def kind_of(head):
    """"namespace", "type" or "block"."""
    if re.search(r"\bnamespace\b", head) or re.match(r'extern\s*$', head):
        return "namespace"
    if re.search(r"\b(class|struct|union|enum)\b", head) and not head.endswith(")"):
        return "type"
    return "block"


def function_lengths(text):
    """Yields (line, lines) of each function body: the outermost blocks with a statement in them."""
    text = without_comments(text)
    scopes, start, line = [], 0, 1
    for at, character in enumerate(text):
        if character == "\n":
            line += 1
        elif character == "{":
            scopes.append((kind_of(text[start:at].strip()), line, at))
        elif character == "}" and scopes:
            kind, first, opened = scopes.pop()
            if kind == "block" and ";" in text[opened:at] and all(outer != "block" for outer, _, _ in scopes):
                yield first, line - first + 1
        if character in "{};":
            start = at + 1


def static_or_global_mutexes(text):
    """Lines that declare a mutex which is static, or stands in a namespace."""
    found = []
    for line, statement, _, scopes in scan(text, kind_of):
        statement = re.sub(r"^(public|private|protected)\s*:\s*", "", statement)
        match = MUTEX_DECLARATION.match(statement)
        if not match:
            continue
        is_global = all(scope == "namespace" for scope in scopes)
        if is_global or SHARED & set(match.group("before").split()):
            found.append(line)
    return found


def conditionals_around_define(lines, name):
    """Line numbers of the #if .. #else that hold nothing but definitions of `name`."""
    allowed = set()
    opened = []  # [(line numbers of the #if and #else, whether all within is a definition of `name`)]
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if re.match(r"#\s*(if|ifdef|ifndef)\b", text):
            opened.append(([number], []))
        elif re.match(r"#\s*(elif|else)\b", text) and opened:
            opened[-1][0].append(number)
        elif re.match(r"#\s*endif\b", text) and opened:
            numbers, within = opened.pop()
            if within and all(within):
                allowed.update(numbers)
        elif text and not text.startswith("//"):
            for _, within in opened:
                within.append(bool(re.match(rf"#\s*define\s+{name}\b", text)))
    return allowed


NAMED_TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)", re.DOTALL)


def unnamed_namespace_names(text):
    """Yields (line, what) for each type, variable and function that an unnamed namespace of the file defines.

    `what` is a name, or a function's name with its parameters: overloads do not clash.
    """
    for line, statement, end, scopes in scan(text, lambda head: head == "namespace"):
        what = defined_name(" ".join(statement.split()), end) if scopes and scopes[-1] else None
        if what:
            yield line, what


def defined_name(statement, end):
    """What the statement or head of a brace defines; None for a declaration, an alias and others."""
    match = NAMED_TYPE.match(statement)
    if match:
        return match.group(1) if end == "{" else None
    if re.match(r"(using|typedef|static_assert|friend|extern|return|TANDEM_)\b", statement):
        return None
    before = re.split(r"(?<![=!<>])=(?!=)", statement)[0]
    match = re.search(r"([\w:~]+)\s*(\(.*)$", before)
    if match and "operator" not in before:
        return match.group(1) + parameters(match.group(2)) if end == "{" and "::" not in match.group(1) else None
    match = re.search(r"(\w+)\s*(\[.*\])?\s*$", before)
    is_variable = match and re.match(r"(inline|static|const|constexpr|constinit|thread_local|std::)", before)
    return match.group(1) if is_variable else None


def parameters(text):
    """"(int, const T&)" of "(int a, const T& b = {}) const", roughly: names and defaults go."""
    inside = text[1:text.rfind(")")]
    return "(" + ", ".join(re.sub(r"\s*=.*$", "", re.sub(r"(?<=[\w>&*])[ ]?\b\w+$", "", part.strip()))
                           for part in inside.split(",")) + ")"

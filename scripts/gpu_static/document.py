# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The tables that stand in a document, between two lines that mark them."""

BEGIN, END = "<!-- tables of scripts/gpu-static -->\n", "<!-- end of the tables -->\n"


class DocumentError(Exception):
    """The document has no place for the tables; the text says so."""


def write(path, text):
    """Replaces what stands between the marks."""
    try:
        old = path.read_text()
    except OSError as e:
        raise DocumentError(f"{path}: {e.strerror}") from e
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DocumentError(f"{path}: it needs the lines '{BEGIN.strip()}' and '{END.strip()}' around its tables")
    path.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}")

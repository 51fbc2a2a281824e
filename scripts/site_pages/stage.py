# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The repository's documents as sources of pages: the same folders and text, and links that lead to pages."""

import json
import os
import re

PLACES = ("*.md", "docs/**/*.md", "examples/**/*.md", "tests/**/*.md")
BOOKS = {"Use": "If you use tandem", "Learn": "If you teach or learn", "Contribute": "If you contribute, or want figures"}
INDEX = "docs/README.md"  # its sections are the books
LINK = re.compile(r"(!?)\[((?:[^\[\]]|!?\[[^\]]*\]\([^)]*\))*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cu": "cpp", ".py": "python", ".toml": "toml", ".json": "json", ".txt": "cmake"}


def page_of(path):
    """The source of the page that shows a file of the repository."""
    if path == "README.md":
        return "index.md"
    return path if path.endswith(".md") else path + ".md"


def section(text, heading):
    """The lines below a heading, up to the next of its kind."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"site: {INDEX} has no heading '{heading}', whose table is a book of the site")
    return found[1]


def fence(text, language):
    marks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    return f"{marks:`<3}{language}\n{text.rstrip()}\n{marks:`<3}\n"


def notebook(text):
    """The cells of a notebook as a document."""
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) if cell["cell_type"] == "markdown" else fence("".join(cell["source"]), "python")
                       for cell in cells)


class Stage:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.documents = sorted({str(path.relative_to(root)) for place in PLACES for path in root.glob(place)})
        self.shown = {}  # files that a document links to, and the text of their pages
        self.pictures = set()  # of documents, which Sphinx copies
        self.copied = set()  # files that are parts of the site as they are

    def write(self, path, text):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def books(self):
        """{book: its documents}; each is in the first book that names it."""
        index, taken, found = self.read(INDEX), set(), {}
        for book, heading in BOOKS.items():
            named = [os.path.normpath(os.path.join("docs", link.partition("#")[0])) for _, _, link in
                     LINK.findall(section(index, heading))]
            named = [path for path in dict.fromkeys(named) if path in self.documents and path not in taken]
            taken.update(named)
            found[book] = named
        return found

    def all_documents(self):
        for path in self.documents:
            self.write(page_of(path), self.followed(path, self.read(path)))
        for path, text in self.shown.items():
            self.write(page_of(path), f"---\norphan: true\n---\n\n{self.followed(path, text) if path.endswith('.ipynb') else text}")

    def followed(self, path, text):
        """The text of `path`, whose links lead to pages."""
        parts = FENCE.split(text)
        return "".join(part if part.startswith("```") else LINK.sub(lambda found: self.link(path, found), part) for part in parts)

    def link(self, path, found):
        picture, text, link = found.groups()
        text = LINK.sub(lambda inner: self.link(path, inner), text)
        place, _, anchor = link.partition("#")
        if re.match(r"\w+:", link) or not place:
            return f"{picture}[{text}]({link})"
        base = os.path.dirname(path)
        target = os.path.normpath(os.path.join(base, place))
        if os.path.isdir(self.root / target):
            target += "/README.md"
        if target.endswith(".html"):  # no page of Sphinx's, so that MyST may not look for its source
            self.copied.add(target)
            return f'<a href="{link}">{text}</a>'
        if target.endswith((".png", ".svg")):
            self.pictures.add(target)
            return f"{picture}[{text}]({link})"
        if target not in self.documents:
            self.show(target)
        if picture:
            raise SystemExit(f"site: {path}: {link} is no picture")
        to = os.path.relpath(page_of(target), os.path.dirname(page_of(path)) or ".")
        return f"[{text}]({to}{'#' + anchor if anchor else ''})"

    def show(self, path):
        """Makes a page for a file that is no document."""
        if path in self.shown:
            return
        text = self.read(path)
        if path.endswith(".ipynb"):
            self.shown[path] = notebook(text)
        else:
            program = re.match(r"#!/usr/bin/env (bash|python)", text)
            language = LANGUAGES.get(os.path.splitext(path)[1], program[1] if program else "text")
            self.shown[path] = f"# {os.path.basename(path)}\n\nThe file `{path}`.\n\n{fence(text, language)}"

    def add_contents(self, books):
        """The list at the side of each page: the books, and what else there is."""
        def tree(caption, pages):
            lines = "\n".join(pages)
            return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"

        def names(paths):
            return [page_of(path).removesuffix(".md") for path in paths if path != "README.md"]

        rest = [path for path in self.documents if path not in {INDEX, *sum(books.values(), [])}]
        records = [path for path in rest if re.match(r"docs/adr/\d", path)]
        use, learn, contribute = (names(books[book]) for book in BOOKS)
        contents = (tree("Use", ["gallery", *use]) + tree("Learn", ["slides", *learn])
                    + tree("Contribute", [*contribute]) + tree("Reference", ["api/cpp/index", "api/python/index", "docs/README"]))
        self.append("index.md", contents)
        self.append("docs/adr/README.md", tree("Records", ["/" + name for name in names(records)]))
        for path in rest:
            if path not in records and path != "docs/adr/README.md":
                self.prepend(page_of(path), "---\norphan: true\n---\n\n")

    def append(self, page, text):
        self.write(page, (self.folder / page).read_text(encoding="utf-8") + text)

    def prepend(self, page, text):
        self.write(page, text + (self.folder / page).read_text(encoding="utf-8"))

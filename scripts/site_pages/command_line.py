# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/site"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from . import cpp_api, gallery, links, python_api, slides, stage

ROOT = pathlib.Path(__file__).resolve().parents[2]
DONE, FAULTS, WRONG_CALL, LACKS_TOOLS = 0, 1, 2, 77

ABOUT = """\
Makes the site of tandem from the repository's documents: three books (Use, Learn, Contribute, as docs/README.md divides
them), the gallery of examples, the slides of the lesson, and the reference of C++ and of Python, with a search. Each warning
of Sphinx or Doxygen and each link that leads nowhere is a fault. It uses no network. The first page is index.html in the
folder of the output.

scripts/setup --site fetches Sphinx and what else it needs."""

END = "exit status: 0 the site is made; 1 a fault; 2 wrong call; 77 Sphinx or Doxygen is missing, and nothing was done"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="site", description=ABOUT, epilog=END, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "site", metavar="FOLDER",
                        help="where the pages go (default: build/site); what was there goes")
    return parser.parse_args(arguments)


def packages():
    """The folder of scripts/setup --site."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return pathlib.Path(data) / "tandem" / "site"


def write_sources(folder, documents):
    """The sources of all pages, in `folder`, with what Doxygen has read; returns the books."""
    made = stage.Stage(ROOT, folder)
    books = made.books()
    made.all_documents()
    gallery.write_page(made)
    slides.write_page(made)
    cpp_api.write_pages(made, documents)
    python_api.write_pages(made)
    for place, paths in ((folder, made.pictures), (folder / "copied", made.copied)):
        for path in paths:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, place / path)
    made.add_contents(books)
    return books


def words(paths):
    return sum(len((ROOT / path).read_text(encoding="utf-8").split()) for path in paths)


def sphinx(source, output, work):
    environment = os.environ | {"PYTHONPATH": str(packages()), "TANDEM_SITE_STAGE": str(source)}
    command = [sys.executable, "-B", "-m", "sphinx", "--fail-on-warning", "--quiet", "--conf-dir", pathlib.Path(__file__).parent,
               "--doctree-dir", work / "doctrees", source, output]
    return subprocess.run(command, env=environment, check=False).returncode


def main(arguments=None):
    options = parse(arguments)
    if not (packages() / "sphinx").is_dir() or not shutil.which("doxygen"):
        print("site: Sphinx or Doxygen is missing: run scripts/setup --site", file=sys.stderr)
        return LACKS_TOOLS
    sys.path.append(str(packages()))
    output = options.output.resolve()
    if output.exists() and any(output.iterdir()) and not (output / "index.html").exists():
        print(f"site: {options.output} is neither empty nor a site: name another folder by --output", file=sys.stderr)
        return WRONG_CALL
    work = output.with_name(output.name + ".work")
    for folder in (output, work):
        shutil.rmtree(folder, ignore_errors=True)
    books = write_sources(work / "source", cpp_api.extract(ROOT, work / "doxygen"))
    if sphinx(work / "source", output, work) != 0:
        return FAULTS
    faults, followed = links.broken(output)
    for page, link, what in faults:
        print(f"site: {page}: {link}: {what}", file=sys.stderr)
    if faults:
        return FAULTS
    for book, paths in books.items():
        print(f"{book}: {len(paths)} documents, {words(paths)} words")
    print(f"{len(list(output.rglob('*.html')))} pages, {followed} links followed: {output / 'index.html'}")
    return DONE

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The gallery: what each example of examples/README.md prints, as a picture that leads to its source."""

import html
import json
import os
import re

LIST = "examples/README.md"
ROW = re.compile(r"^\| (\[[^|]*) \| ([^|]*) \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
OUTPUT = re.compile(r"^(?://|#) Expected output:\n((?:(?://|#)   .*\n)+)", re.MULTILINE)
LEARN = re.compile(r"\*\*You learn\*\*\n\n((?:[- ] .*\n)+)")
PAGES = (("docs/report.html", "docs/report.png", "A report", "what tandem compare --html writes: memory, time, traffic and losses"),
         ("docs/dp-vs-ddp.md", "docs/dp-vs-ddp.png", "DataParallel or DDP?", "a lesson on simulated machines, from 1 GPU to 1,024"))


def printed(path, text):
    """What the head of an example says that it prints; of a notebook, what one learns by it."""
    if path.endswith(".ipynb"):
        found = LEARN.search("".join(json.loads(text)["cells"][0]["source"]) + "\n")
        return found[1] if found else ""
    found = OUTPUT.search(text)
    return re.sub(r"^(?://|#)   ", "", found[1], flags=re.MULTILINE) if found else ""


def card(link, picture, title, text):
    return (f'<a class="card" href="{link}">{picture}<strong>{html.escape(title)}</strong>'
            f"<span>{html.escape(text)}</span></a>")


def example_cards(stage):
    for links, text in ROW.findall(stage.read(LIST)):
        path = os.path.normpath(os.path.join(os.path.dirname(LIST), LINK.findall(links)[-1]))
        if not path.startswith("examples/python/") and path not in stage.shown:
            raise SystemExit(f"site: {LIST}: {path} has no page")
        lines = printed(path, stage.read(path))
        if lines:
            plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", text)
            folder = os.path.basename(os.path.dirname(path))
            name = os.path.basename(path) if folder == "examples" else f"{folder}/{os.path.basename(path)}"
            yield card(path + ".html", f"<pre>{html.escape(lines)}</pre>", name, plain)


def write_page(stage):
    """examples/README.md becomes the gallery's last part, so that its text is there once."""
    pictures = []
    for page, picture, title, text in PAGES:
        link = page.removesuffix(".md") + ("" if page.endswith(".html") else ".html")
        stage.copied.add(picture)
        pictures.append(card(link, f'<img src="{picture}" alt="">', title, text))
    cards = "\n".join([*pictures, *example_cards(stage)])
    stage.write("gallery.md", "# Gallery\n\nEach example runs on virtual devices of the host and needs no download. The pictures are what "
                f"it prints, and lead to its source. [All examples](examples/README.md) says how to build them.\n\n"
                f'<div class="gallery">\n{cards}\n</div>\n')

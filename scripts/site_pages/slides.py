# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The lesson as slides: one page without a reference to elsewhere, made of the lesson's own text.

Each output, table and picture is a slide, with the first sentences of the paragraphs below it; a section begins with those above."""

import base64
import html
import os
import pathlib
import re

LESSON = "docs/dp-vs-ddp.md"
PAGE = "slides/dp-vs-ddp.html"
LOOK = pathlib.Path(__file__).resolve().parent / "look"
BLOCK = re.compile(r"^```(\w*)\n(.*?)\n```$|((?:^\|[^\n]*\n?)+)|^!\[([^\]]*)\]\(([^)]+)\)|((?:^(?!```|\||!\[)[^\n]+\n?)+)",
                   re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"(\S.*?[.?!])\)?(?=\s+[A-Z(\[`]|\s*$)", re.DOTALL)
MOST_LINES = 16  # of an output; what is beyond is in the lesson
MOST_SENTENCES, MOST_POINTS = 3, 4  # of a paragraph, and on a slide


class Deck:
    def __init__(self, stage):
        from markdown_it import MarkdownIt  # of scripts/setup --site; the rest needs Python alone

        self.stage, self.slides = stage, []
        self.markdown = MarkdownIt("commonmark").enable("table")

    def inline(self, text):
        """Markdown of a sentence or a table as HTML; links stay as their text, since the page stands alone."""
        return self.markdown.render(re.sub(r"(?<!!)\[([^\]]*)\]\([^)]*\)", r"\1", text))

    def add(self, heading, body, kind, points):
        said = self.inline("\n".join("- " + " ".join(point.split()) for point in points)) if points else ""
        if body or said:
            self.slides.append(f'<section class="{kind}"><h2>{self.markdown.renderInline(heading)}</h2>{body}{said}</section>')

    def section(self, heading, text):
        slides, command = [("", "points", [])], ""
        for language, code, table, label, picture, paragraph in (found.groups() for found in BLOCK.finditer(text)):
            if language == "sh":
                command = code
            elif code:
                lines = code.splitlines()
                shown = "\n".join(lines[:MOST_LINES]) + ("\n..." if len(lines) > MOST_LINES else "")
                slides.append((f'<pre class="command">{html.escape(command)}</pre><pre>{html.escape(shown)}</pre>', "output", []))
            elif table:
                slides.append((self.inline(table), "table", []))
            elif picture:
                path = self.stage.root / os.path.dirname(LESSON) / picture
                data = base64.b64encode(path.read_bytes()).decode()
                slides.append((f'<img alt="{html.escape(label)}" src="data:image/png;base64,{data}">', "picture", []))
            elif paragraph:  # not its last words, if they lead to a command
                slides[-1][2].extend(SENTENCE.findall(paragraph.strip())[:MOST_SENTENCES])
        for body, kind, points in slides:
            self.add(heading, body, kind, points[:MOST_POINTS])


def page(stage):
    """The page of slides, as HTML."""
    title, *sections = re.split(r"^#{1,2} ", stage.read(LESSON), flags=re.MULTILINE)[1:]
    deck = Deck(stage)
    name, text = title.split("\n", 1)
    deck.section(name, text)
    for section in sections:
        deck.section(*section.split("\n", 1))
    style, script = ((LOOK / file).read_text(encoding="utf-8") for file in ("slides.css", "slides.js"))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(name)}</title><style>{style}</style></head><body>\n" + "\n".join(deck.slides)
            + f'\n<div id="place"></div><script>{script}</script></body></html>\n')


def write_page(stage):
    stage.write("copied/" + PAGE, page(stage))
    stage.write("slides.md", "# Slides\n\nThe lesson [DataParallel or DistributedDataParallel?](docs/dp-vs-ddp.md) "
                f'as <a href="{PAGE}">slides</a> for a course: one page, which needs no network. The arrow keys, '
                "space and a touch go from slide to slide; printing gives a page for each. The slides are made of the lesson's own text, "
                "so each command on them prints what they show.\n")

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Whether each link of the pages leads to a file of the site and to an anchor in it."""

import html.parser
import os
import re
import urllib.parse


class Page(html.parser.HTMLParser):
    """The anchors of a page, and where its links and pictures lead."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def broken(folder):
    """[(page, link, what is wrong)] and how many links were followed; those to other sites are not."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    found, followed = [], 0
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z][\w+.-]*:|//", link):
                continue
            place, _, anchor = link.partition("#")
            place = urllib.parse.unquote(place.partition("?")[0])
            target = path if not place else path.parent.joinpath(place)
            target = type(path)(os.path.normpath(target))
            followed += 1
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                found.append((path.relative_to(folder), link, "there is no such file"))
            elif anchor and target in pages and urllib.parse.unquote(anchor) not in pages[target].anchors:
                found.append((path.relative_to(folder), link, "the page has no such anchor"))
    return found, followed

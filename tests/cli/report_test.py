# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The page that `tandem compare --html` writes; browser_test.py tests it in a browser."""

import html.parser
import itertools
import json
import re

from program import DIGITS, MODES, ProgramTest, main

SECTIONS = ["modes", "memory", "memory-over-time", "timeline", "phases", "traffic", "loss"]
LARGEST = 300 * 1024  # bytes of a page

# What people without the receptors for red, green or blue see, in linear RGB: Machado, Oliveira and
# Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009).
SIGHTS = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour):
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def oklab(rgb):
    """Ottosson's OKLab of linear RGB, in which distances are about as large as they look."""
    r, g, b = [min(max(c, 0), 1) for c in rgb]
    l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s)


def seen(colour, sight):
    rgb = linear(colour)
    return oklab([sum(a * c for a, c in zip(row, rgb)) for row in SIGHTS[sight]])


class Tags(html.parser.HTMLParser):
    """Asserts that every tag is closed, and keeps the attributes of all tags."""

    VOID = {"meta", "link", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> after {self.open}"


class PageTest(ProgramTest):
    def report(self, *arguments, steps=3):
        self.succeed("compare", "--html", "report.html", *DIGITS, "--steps", str(steps), "--quiet", *arguments)
        with open(self.file("report.html"), encoding="utf-8") as page:
            return page.read()

    def test_is_one_small_file_that_needs_no_other(self):
        page = self.report("--devices", "cpu:8")
        self.assertLess(len(page.encode()), LARGEST)
        for outside in ("http:", "https:", "src=", "@import", "url(", "<link"):
            self.assertNotIn(outside, page)
        tags = Tags(page).seen
        self.assertEqual([a["id"] for t, a in tags if t == "section"], SECTIONS)
        for tag, attributes in tags:
            if tag == "svg" and attributes.get("class") != "key":
                self.assertTrue(attributes["aria-label"])
        for section in SECTIONS:
            self.assertRegex(page, rf'<section id="{section}">\n<h2>.+</h2>\n<p class="says">.{{30,}}</p>')

    def test_stays_small_for_many_devices_and_modules(self):
        gpt = ["--model", "gpt", "--data", "text", "--layers", "6", "--width", "32", "--context", "16", "--batch", "32"]
        done = self.succeed("compare", *gpt, "--accumulate", "4", "--devices", "cpu:12", "--steps", "2", "--quiet",
                            "--html", "-")
        Tags(done.stdout)
        self.assertEqual(done.stdout.count("<h3>dp-classic</h3>"), 5, "in each part that has pictures by mode")
        self.assertLess(len(done.stdout.encode()), LARGEST)
        self.assertNotRegex(done.stdout, r"V(\d+)H\d+V\1H\d+V\1H", "a level that goes on is drawn once")

    def test_says_what_json_says(self):
        page = self.report("--devices", "cpu:3", "--json", "r.json", "--gpu0-bsz", "10")
        with open(self.file("r.json"), encoding="utf-8") as file:
            modes = json.load(file)["modes"]
        self.assertEqual([m["mode"] for m in modes], MODES)
        cells = re.findall(r"<td>([^<]*)</td>", page)
        for mode in modes:
            self.assertIn(f"{mode['step_ms']['p50']:.2f}", cells)
            for device in mode["devices"]:
                for bytes_of in device["peak_by_category"].values():
                    size = f"{bytes_of} B" if bytes_of < 1024 else f"{bytes_of / 1024:.1f} KiB"
                    if bytes_of < 1024 * 1024:
                        self.assertIn(size, cells)
        self.assertIn("<b>10 rows</b>", page)
        modes.sort(key=lambda mode: mode["step_ms"]["p50"])
        fastest = [mode["mode"] for mode in modes if mode["step_ms"]["p50"] <= modes[0]["step_ms"]["p90"]]
        self.assertIn(f"The fastest mode is {fastest[0]} with" if len(fastest) == 1 else
                      f"The fastest modes are {', '.join(fastest[:-1])} and {fastest[-1]} with", page)

    def test_bars_are_as_long_as_their_bytes(self):
        page = self.report("--devices", "cpu:2", "--modes", "dp-server", "--json", "r.json")
        with open(self.file("r.json"), encoding="utf-8") as file:
            devices = json.load(file)["modes"][0]["devices"]
        memory = page[page.index('<section id="memory">'):page.index('<section id="memory-over-time">')]
        bars = [{category: float(width) for width, category in re.findall(r'width="([\d.]+)"[^>]*data-tip="(\w+):', svg)}
                for svg in re.findall(r"<svg.*?</svg>", memory)]
        per_byte = sum(bars[0].values()) / sum(devices[0]["peak_by_category"].values())
        for bar, device in zip(bars, devices, strict=True):
            self.assertEqual(bar.keys(), device["peak_by_category"].keys())
            for category, nbytes in device["peak_by_category"].items():
                self.assertAlmostEqual(bar[category], nbytes * per_byte, delta=0.3)

    def test_a_loss_that_is_not_finite_is_no_equal_one(self):
        page = self.report("--devices", "cpu:2", "--modes", "single,dp-classic", "--lr", "1e30", "--no-loss-in-replica", steps=8)
        self.assertRegex(page, r"The loss of [\w-]+ is not finite from step \d")
        self.assertNotIn("the modes do the same", page)
        self.assertNotIn("rounding can flip", page)
        self.assertNotIn("-nan", page)

    def test_two_files_are_not_written_to_one_place(self):
        self.fail_with(2, "compare", *DIGITS, "--html", "-", "--json", "-", says=["--html", "--json"])

    def test_of_one_device_and_one_step(self):
        page = self.report("--devices", "cpu:1", "--modes", "single", steps=1)
        Tags(page)
        self.assertIn("There is one device, so no bytes go between devices.", page)
        self.assertRegex(page, r"; on cpu:0, 1 device that has \d+ cores?\.</p></header>")

    def test_more_devices_than_are_drawn(self):
        page = self.report("--devices", "cpu:11", "--modes", "dp-sharded,ddp")
        self.assertLess(len(page.encode()), LARGEST)
        self.assertIn("and 3 more, which are not drawn", page)
        self.assertRegex(page, r", 11 devices that share \d+ cores?\.</p></header>")
        self.assertNotIn("<span>cpu:8</span>", page)

    def test_goes_to_stdout(self):
        done = self.succeed("compare", *DIGITS, "--steps", "1", "--devices", "cpu:2", "--modes", "ddp", "--html", "-")
        self.assertTrue(done.stdout.startswith("<!DOCTYPE html>"))
        done = self.fail_with(1, "compare", *DIGITS, "--steps", "1", "--devices", "cpu:2", "--html", "no/such/page.html",
                              says=["no/such"])
        self.assertEqual(len(done.stderr.splitlines()), 1, "before anything is trained")

    def test_colours_stay_apart_for_those_who_see_fewer(self):
        page = self.report("--devices", "cpu:2", "--modes", "ddp", steps=1)
        colours = re.findall(r"(?m)^\.\w+\{fill:(#[0-9a-f]{6});", page)
        self.assertEqual(len(colours), 10)
        for sight in SIGHTS:
            for a, b in itertools.combinations(colours, 2):
                apart = 100 * sum((x - y) ** 2 for x, y in zip(seen(a, sight), seen(b, sight))) ** 0.5
                self.assertGreater(apart, 10, f"{a} and {b}, {sight}")


if __name__ == "__main__":
    main()

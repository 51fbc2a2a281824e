# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The page of `tandem compare --html` in headless Chromium; the test skips if there is no Chromium."""

import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys

from program import DIGITS, ProgramTest, main
from report_test import SECTIONS

SKIPPED = 77  # what ctest takes for skipped
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


class BrowserTest(ProgramTest):
    PROBE = """<script>{
      const facts = {};
      facts.sections = [...document.querySelectorAll('main section')].map(s => s.id);
      facts.empty = [...document.querySelectorAll('main section')].filter(s => !s.querySelector('svg,table')).length;
      facts.overflow = document.documentElement.scrollWidth - innerWidth;
      facts.flat = [...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width < 50).length;
      facts.paper = getComputedStyle(document.body).backgroundColor;
      const tip = document.getElementById('tip');
      const shape = document.querySelector('#memory rect[data-tip]');
      facts.hidden_before = tip.hidden;
      shape.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 60, clientY: 60}));
      facts.tip = tip.hidden ? '' : tip.textContent;
      document.body.dispatchEvent(new PointerEvent('pointermove', {bubbles: true}));
      facts.hidden_after = tip.hidden;
      const entry = document.querySelector('#memory .legend li');
      entry.dispatchEvent(new PointerEvent('pointerenter'));
      facts.faded = document.querySelectorAll('#memory .faded').length;
      facts.kept = document.querySelectorAll('#memory figure rect:not(.faded)').length;
      entry.dispatchEvent(new PointerEvent('pointerleave'));
      facts.faded_after = document.querySelectorAll('.faded').length;
      document.body.dataset.facts = JSON.stringify(facts);
    }</script></body>"""

    def setUp(self):
        super().setUp()
        self.succeed("compare", "--html", "report.html", *DIGITS, "--steps", "3", "--quiet", "--devices", "cpu:3")
        with open(self.file("report.html"), encoding="utf-8") as page:
            probed = page.read().replace("</body>", self.PROBE)
        with open(self.file("probed.html"), "w", encoding="utf-8") as page:
            page.write(probed)

    def browse(self, *arguments, width=1280):
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--hide-scrollbars", "--enable-logging=stderr",
             f"--user-data-dir={self.file('profile')}", f"--window-size={width},1000", *arguments],
            capture_output=True, text=True, timeout=60, cwd=self.directory, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines() if "CONSOLE" in line], [])
        return done.stdout

    def facts(self, *arguments, **named):
        dom = self.browse(*arguments, "--dump-dom", "file://" + self.file("probed.html"), **named)
        found = re.search(r'data-facts="([^"]*)"', dom)
        self.assertIsNotNone(found, "the page's script has stopped")
        return json.loads(html.unescape(found[1]))

    def test_all_is_there_and_hovering_tells(self):
        facts = self.facts()
        self.assertEqual(facts["sections"], SECTIONS)
        self.assertEqual((facts["empty"], facts["flat"]), (0, 0))
        self.assertTrue(facts["hidden_before"] and facts["hidden_after"])
        self.assertRegex(facts["tip"], r"^parameter: [\d.]+ KiB\ncpu:0, \d+ % of [\d.]+ [KM]iB$")
        self.assertGreater(facts["faded"], 0)
        self.assertEqual(facts["kept"], 1 + 3 * 6)  # the parameters of each device in each mode
        self.assertEqual(facts["faded_after"], 0)

    def test_nothing_sticks_out_of_a_phone(self):
        for width in (400, 1280):
            self.assertLessEqual(self.facts(width=width)["overflow"], 0)

    def test_is_light_or_dark_as_the_reader(self):
        self.assertEqual(self.facts()["paper"], "rgb(255, 255, 255)")
        dark = self.facts("--blink-settings=preferredColorScheme=0")["paper"]
        self.assertLess(sum(map(int, re.findall(r"\d+", dark))), 150)

    def test_screenshots_and_print(self):
        page = "file://" + self.file("report.html")
        for width in (400, 1280):
            self.browse(f"--screenshot={self.file('page.png')}", page, width=width)
            with open(self.file("page.png"), "rb") as image:
                head = image.read(24)
            self.assertEqual(struct.unpack(">II", head[16:24]), (width, 1000))
        self.browse(f"--print-to-pdf={self.file('page.pdf')}", page)
        self.assertGreater(os.path.getsize(self.file("page.pdf")), 20000)


if __name__ == "__main__":
    if BROWSER is None:
        print("there is no Chromium; scripts/setup --browser installs it")
        sys.exit(SKIPPED)
    main()

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/site makes all pages without a fault, and they fit a phone, a tablet and a desk: site_build_test.py SCRIPTS

It skips without the packages of scripts/setup --site; what a browser sees is not tested without Chromium."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77  # what ctest takes for skipped
SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
WIDTHS = (390, 1024, 1600)
PAGES = ("index.html", "gallery.html", "docs/exercises.html", "docs/from-other-libraries.html", "docs/dp-vs-ddp.html",
         "examples/03_data_parallel.cpp.html", "api/cpp/comm.html", "api/python/tandem.html", "search.html", "slides/dp-vs-ddp.html")
FRAMES = "".join(f'<iframe src="{page}" style="width:{width}px;height:900px;border:0"></iframe>' for page in PAGES for width in WIDTHS)
PROBE = f"""<!DOCTYPE html><html><body>{FRAMES}<script>
  addEventListener('load', () => {{
    const seen = [...document.querySelectorAll('iframe')].map((frame) => {{
      const page = frame.contentDocument.documentElement;
      return {{page: frame.getAttribute('src'), width: frame.clientWidth, over: page.scrollWidth - page.clientWidth,
              paper: frame.contentWindow.getComputedStyle(frame.contentDocument.body).backgroundColor,
              words: frame.contentDocument.body.innerText.length}};
    }});
    document.body.dataset.facts = JSON.stringify(seen);
  }});
</script></body></html>"""


def make(folder):
    return subprocess.run([SCRIPTS / "site", "--output", folder], capture_output=True, text=True, timeout=800, check=False)


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.site = pathlib.Path(folder.name) / "site"
        cls.done = make(cls.site)
        if cls.done.returncode == SKIPPED:
            print(cls.done.stderr)
            sys.exit(SKIPPED)

    def test_all_is_made_without_a_fault(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.assertRegex(self.done.stdout, r"Use: \d+ documents, \d+ words\nLearn: .*\nContribute: .*\n\d+ pages, \d+ links followed")
        for page in (*PAGES, "docs/report.html", "docs/adr/0012-plan-by-steps-without-effect.html", "searchindex.js"):
            self.assertTrue((self.site / page).exists(), page)

    def test_the_search_knows_documents_and_both_references(self):
        index = (self.site / "searchindex.js").read_text(encoding="utf-8")
        for page in ("docs/memory", "api/cpp/parallel", "api/python/tandem", "examples/08_by_hand.cpp"):
            self.assertIn(f'"{page}"', index)

    def test_a_folder_that_is_no_site_is_left_alone(self):
        with tempfile.TemporaryDirectory(prefix="tandem-test-") as folder:
            kept = pathlib.Path(folder) / "kept"
            kept.write_text("mine", encoding="utf-8")
            done = make(folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is neither empty nor a site", done.stderr)
            self.assertEqual(kept.read_text(encoding="utf-8"), "mine")

    def look(self, *arguments):
        (self.site / "probe.html").write_text(PROBE, encoding="utf-8")
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--allow-file-access-from-files", f"--user-data-dir={self.site}.profile",
             *arguments, "--dump-dom", f"file://{self.site}/probe.html"], capture_output=True, text=True, timeout=120, check=False)
        found = re.search(r'data-facts="([^"]*)"', done.stdout)
        self.assertIsNotNone(found, done.stderr)
        return json.loads(html.unescape(found[1]))

    @unittest.skipUnless(BROWSER, "there is no Chromium")
    def test_nothing_sticks_out_at_any_width_in_light_or_dark(self):
        light, dark = self.look(), self.look("--blink-settings=preferredColorScheme=0")
        for one in (*light, *dark):
            self.assertLessEqual(one["over"], 0, one)
            self.assertGreater(one["words"], 20, one)
        self.assertEqual(len(light), len(PAGES) * len(WIDTHS))
        for day, night in zip(light, dark):
            self.assertNotEqual(day["paper"], night["paper"], day["page"])


if __name__ == "__main__":
    unittest.main()

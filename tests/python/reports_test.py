# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem.explain and tandem.memory tell what a step did, as text, JSON and pictures."""

import html.parser
import json
import unittest

import models
import tandem
import torch

MOST_BYTES = 200_000  # of a report in a notebook


def bytes_of(model):
    """Of the parameters in f64; each begins where a multiple of 256 bytes does."""
    return sum(-(x.numel() * 8 // -256) * 256 for x in model.parameters())


class Frame(html.parser.HTMLParser):
    """The page in a report's frame, and the tags around it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.page = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.page = dict(attributes).get("srcdoc", self.page)


class ReportsTest(unittest.TestCase):
    def setUp(self):
        tandem.configure_devices("cpu:3")
        self.model = models.Mlp().double()
        self.wrapper = tandem.DataParallel(self.model, gpu0_bsz=1, mode="server")
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.batch = models.batch_of(self.model, 7, 0)
        self.step()

    def step(self):
        self.wrapper.step(self.batch, models.mean_loss, self.optimizer)

    def check_frame(self, report, titles):
        text = report._repr_html_()
        self.assertLess(len(text.encode()), MOST_BYTES)
        frame = Frame(text)
        self.assertEqual(frame.tags, ["iframe"])
        inner = Frame(frame.page)
        self.assertIn("svg", inner.tags)
        for title in titles:
            self.assertIn(f"<h2>{title}</h2>", frame.page)

    def test_explain(self):
        why = tandem.explain(self.step)
        self.assertIn("Scatter", why.text())
        self.assertEqual(str(why), why.text())
        told = json.loads(why.json())
        self.assertEqual(told["schema_version"], 1)
        rows = {device["name"]: device["rows"] for device in told["devices"]}
        self.assertEqual([rows[f"cpu:{i}"] for i in range(3)], [1, 3, 3])
        self.check_frame(why, ["A step, device by device", "Bytes by link"])

    def test_bytes_by_link_are_those_of_the_parameters(self):
        told = json.loads(tandem.explain(self.step).json())
        sent = {(link["source"], link["destination"]): link["bytes_by_category"] for link in told["links"]}
        for other in ("cpu:1", "cpu:2"):
            self.assertEqual(sent["cpu:0", other]["parameter"], bytes_of(self.model), sent)

    def test_memory(self):
        told = tandem.memory(self.step)
        peaks = {device["name"]: device for device in json.loads(told.json())["devices"]}
        for device in peaks.values():
            self.assertEqual(device["peak_bytes"], sum(device["peak_by_category"].values()))
            self.assertEqual(device["peak_by_category"]["parameter"], bytes_of(self.model))
        self.assertRegex(told.text(), r"cpu:0 +1 rows")
        self.assertIn("imbalance", told.text())
        self.check_frame(told, ["Memory at the peak, by cause", "Memory through a step"])

    def test_an_error_of_the_step_comes_through(self):
        for report in (tandem.explain, tandem.memory):
            with self.subTest(report.__name__), self.assertRaisesRegex(ZeroDivisionError, "division"):
                report(lambda: 1 / 0)
        self.step()
        self.assertIn("Scatter", tandem.explain(self.step).text())


if __name__ == "__main__":
    unittest.main()

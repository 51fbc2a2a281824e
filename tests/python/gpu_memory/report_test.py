# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A report as text, JSON, page and advice."""

import dataclasses
import html.parser
import json
import pathlib
import unittest

import tandem.gpu_memory
from tandem.gpu_memory import Failure, Gpu, GpuMemory, Instant, Row

MIB = 1 << 20
SCHEMA = json.loads(pathlib.Path(tandem.gpu_memory.__file__).with_name("schema.json").read_text())
MOST_BYTES = 200_000  # of a report in a notebook


def gpu(index, *rows, phase="backward"):
    rows = [Row(cause, phase, module, mib * MIB) for cause, phase, module, mib in rows]
    peak = sum(row.nbytes for row in rows)
    return Gpu(index, peak, phase, peak + 4 * MIB, 0, 512 * MIB, 5 * MIB, rows, [Instant(0, {}), Instant(50, {row.cause: row.nbytes for row in rows})])


def head_on_four(failure=None):
    """Outputs on the first GPU, as of a language model in torch.nn.DataParallel."""
    first = gpu(0, ("saved by the loss", "loss", "", 40), ("gradient of an output", "backward", "", 40), ("optimizer state", "before", "head", 20),
                ("parameter", "before", "head", 10), phase="gather" if failure else "backward")
    others = [gpu(i, ("parameter copy", "replicate", "head", 10), ("saved activation", "forward", "<b>", 10)) for i in (1, 2, 3)]
    return GpuMemory([first, *others], failure)


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.page = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.page = dict(attributes).get("srcdoc", self.page)


class ReportTest(unittest.TestCase):
    def test_sums(self):
        first = head_on_four().gpus[0]
        self.assertEqual(first.by_category, {"activation": 40 * MIB, "output_gradient": 40 * MIB, "optimizer": 20 * MIB, "parameter": 10 * MIB})
        self.assertEqual(first.by_phase["before"], 30 * MIB)
        self.assertEqual(first.by_module["head"], 30 * MIB)
        self.assertEqual((first.unused_bytes, first.unnamed), (4 * MIB, 0))
        self.assertEqual(head_on_four().imbalance, 5.5)

    def test_imbalance_of_one_gpu(self):
        self.assertEqual(GpuMemory([gpu(0, ("input", "between", "", 1))]).imbalance, 1)

    def test_text(self):
        lines = head_on_four().text().splitlines()
        self.assertRegex(lines[0], r"^cuda:0 +110\.0 MiB  reached in backward; 4\.0 MiB more kept .*, and 5\.0 MiB in use outside of PyTorch$")
        self.assertRegex(lines[1], r"^  saved by the loss +█+.* 40\.0 MiB  loss 40\.0 MiB$")
        self.assertIn("imbalance 5.50: the peak of cuda:0 over the mean peak of the others", lines)
        self.assertEqual(GpuMemory([]).text(), "no GPU held anything")

    def test_json_follows_its_schema(self):
        for report in (head_on_four(), head_on_four(Failure(0, 7, 5)), GpuMemory([])):
            self.check_schema(json.loads(report.json()), SCHEMA)

    def test_the_schema_refuses_what_is_not_in_it(self):
        told = json.loads(head_on_four().json())
        for change in ({"more": 1}, {"rows": "four"}, {"rows": -1}, {"schema_version": 2}, {"failure": {"gpu": 0}}):
            with self.subTest(change), self.assertRaises(AssertionError):
                self.check_schema(told | change, SCHEMA)

    def check_schema(self, value, schema):
        """The words of JSON Schema that ours has."""
        if "$ref" in schema:
            self.check_schema(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
        if "oneOf" in schema:
            self.check_schema(value, schema["oneOf"][value is not None])
        self.assertEqual(value, schema.get("const", value))
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}
        if "type" in schema:
            self.assertIsInstance(value, kinds[schema["type"]])
        if "minimum" in schema:
            self.assertGreaterEqual(value, schema["minimum"])
        if "pattern" in schema:
            self.assertRegex(value, schema["pattern"])
        if isinstance(value, dict):
            properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
            self.assertLessEqual(set(schema.get("required", ())), set(value))
            for name, inner in value.items():
                self.assertTrue(name in properties or others is not False, name)
                self.check_schema(inner, properties.get(name, others))
        if isinstance(value, list):
            for inner in value:
                self.check_schema(inner, schema.get("items", {}))

    def test_from_dict_is_the_inverse(self):
        for report in (head_on_four(), head_on_four(Failure(0, 7, 5))):
            self.assertEqual(GpuMemory.from_dict(json.loads(report.json())), report)

    def test_page_and_notebook(self):
        report = head_on_four()
        self.assertIn("svg", Tags(report.html()).names)
        self.assertIn("title", Tags(report.html()).names)
        frame = Tags(report._repr_html_())
        self.assertEqual(frame.names, ["iframe"])
        self.assertLess(len(report._repr_html_()), MOST_BYTES)
        self.assertIn("<h2>What to do</h2>", frame.page)
        self.assertNotIn("<b>", frame.page)

    def test_the_legend_names_what_is_seen_through_the_step_alone(self):
        first = dataclasses.replace(head_on_four().gpus[0], line=[Instant(0, {"workspace of an op": MIB}), Instant(9, {"input": MIB})])
        legend = GpuMemory([first]).html().split("</p>")[0]
        for category in ("workspace", "input", "optimizer"):
            self.assertIn(category, legend)
        self.assertNotIn("held", legend)

    def test_recomputation_is_advised_by_what_it_saves(self):
        one = dataclasses.replace(gpu(0, ("parameter", "before", "", 20), ("saved activation", "forward", "", 80)), recomputable_bytes=50 * MIB)
        self.assertEqual([(remedy.name, remedy.saves) for remedy in GpuMemory([one]).remedies()], [("recomputation", 50 * MIB), ("16 bit", 30 * MIB)])

    def test_advice_has_the_figures(self):
        told = {remedy.name: remedy for remedy in head_on_four().remedies()}
        self.assertRegex(told["loss in the forward"].sentence, r"^80\.0 MiB of cuda:0 are the gathered outputs.*60\.0 MiB of cuda:0 become free")
        self.assertRegex(told["sharded optimizer"].sentence, r"^20\.0 MiB of cuda:0 are the optimizer's state.*sharded.*frees 15\.0 MiB$")
        self.assertEqual({name: remedy.saves // MIB for name, remedy in told.items()},
                         {"loss in the forward": 60, "a process for each GPU": 50, "sharded optimizer": 15})
        self.assertEqual(head_on_four().advice(), [remedy.sentence for remedy in head_on_four().remedies()])

    def test_buckets_are_advised_by_step_and_not_to_a_wrapper_of_tandem(self):
        rows = [("parameter", "before", "", 20), ("gradient of a copy", "backward", "", 60)]
        told = GpuMemory([gpu(0, *rows), gpu(1, *rows)]).remedies()
        self.assertIn("step(batch, loss, optimizer) of tandem.DataParallel", {remedy.name: remedy.sentence for remedy in told}["buckets"])
        for cause in ("kept copy of a parameter", "buffer of an exchange"):
            with self.subTest(cause):
                own = GpuMemory([gpu(0, *rows), gpu(1, *rows, (cause, "before", "", 20))])
                self.assertNotIn("buckets", [remedy.name for remedy in own.remedies()])

    def test_a_sharded_optimizer_is_advised_for_what_the_first_gpu_has_more(self):
        own, other = (gpu(i, ("optimizer state", "before", "", nbytes), ("parameter copy", "replicate", "", 20)) for i, nbytes in enumerate((80, 40)))
        told = {remedy.name: remedy for remedy in GpuMemory([own, other]).remedies()}["sharded optimizer"]
        self.assertEqual(told.saves, 20 * MIB)
        self.assertIn('tandem.DataParallel(mode="sharded") with tandem.Optimizer', told.sentence)

    def test_a_failed_gathering_is_part_of_what_the_loss_in_the_forward_saves(self):
        advice = head_on_four(Failure(0, 80 * MIB, 0)).advice()
        self.assertRegex(advice[0], r"^160\.0 MiB of cuda:0")

    def test_no_advice_for_replicas_on_one_gpu(self):
        report = GpuMemory([gpu(0, ("optimizer state", "before", "", 20), ("saved activation", "forward", "", 80))])
        self.assertEqual([remedy.name for remedy in report.remedies()], ["16 bit"])


if __name__ == "__main__":
    unittest.main()

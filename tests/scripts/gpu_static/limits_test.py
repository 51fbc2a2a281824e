#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Shows which limits of scripts/gpu-static hold for a kernel, and the estimates that it makes of figures.

usage: limits_test.py FOLDER-OF-SCRIPTS
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))

from gpu_static import command_line, limits, roof, table  # noqa: E402

EACH = {"name": "elementwise", "kernels": ["*: each<*"], "stack": 0, "f64": 0, "div_i64": 0.5}
REST = {"name": "rest", "kernels": ["*"], "registers": 64, "stack": 100}


def kernel(name="each<Add, f32>", with_sass=True, **figures):
    """A kernel that does its best: a thread has a vector of 16 bytes, and 32 registers."""
    of_ptxas = {"registers": 32, "stack": 0, "spills": 0, "shared": 0}
    of_sass = {"code": 40, "loop": False, "elements": 4, "instructions": 40, "loads": 2, "load_bytes": 32, "widest_load": 16, "stores": 1,
               "store_bytes": 16, "local_bytes": 0, "f64": 0, "div_i64": 0, "div_i32": 0, "div_f64": 0, "div_f32": 0, "in_flight": 32}
    return {"id": f"a: {name}", "file": "a", "name": name, "family": name.replace(", f32", ""), "architecture": 80,
            **of_ptxas, **(of_sass if with_sass else {}), **figures}


class Limits(unittest.TestCase):
    def exceeded(self, *kernels, classes=(EACH, REST)):
        return [(e["class"], e["figure"], e["value"], e["maximum"]) for e in limits.exceeded(kernels, classes)]

    def test_nothing_is_exceeded(self):
        self.assertEqual(self.exceeded(kernel(), kernel("sort", stack=100, registers=64)), [])

    def test_the_first_class_decides(self):
        self.assertEqual(self.exceeded(kernel(stack=8, registers=99)), [("elementwise", "stack", 8, 0)])
        self.assertEqual(self.exceeded(kernel("sort", stack=108, registers=99)),
                         [("rest", "registers", 99, 64), ("rest", "stack", 108, 100)])

    def test_figures_of_machine_code_are_of_an_element(self):
        self.assertEqual(self.exceeded(kernel(div_i64=2)), [])
        self.assertEqual(self.exceeded(kernel(div_i64=3)), [("elementwise", "div_i64", 0.75, 0.5)])

    def test_f64_is_for_kernels_of_f64(self):
        self.assertEqual(self.exceeded(kernel("each<Add, f64>", f64=4)), [])
        self.assertEqual(self.exceeded(kernel(f64=4)), [("elementwise", "f64", 1, 0)])

    def test_without_machine_code_the_other_limits_hold(self):
        self.assertEqual(self.exceeded(kernel(with_sass=False, stack=8)), [("elementwise", "stack", 8, 0)])

    def test_classes_and_kernels_that_have_nothing_to_do_with_each_other(self):
        self.assertEqual(limits.without_kernel([kernel()], [EACH, REST]), ["rest"])
        self.assertEqual(limits.without_class([kernel("sort")], [EACH]), ["a: sort"])


class LimitsFile(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory(prefix="tandem-test-") as folder:
            path = pathlib.Path(folder, "limits.toml")
            path.write_text(text)
            return limits.read(path)

    def test_a_file(self):
        self.assertEqual(self.read('[[class]]\nname = "rest"\nkernels = ["*"]\nregisters = 64\nstack = 100\n'), [REST])

    def test_what_is_wrong_is_named(self):
        for text, said in [("[[class]]\nkernels = []", "name ="), ('[[class]]\nname = "a"', 'a: a class needs'),
                           ('[[class]]\nname = "a"\nkernels = []\nheap = 1', "a: heap = 1; expected"),
                           ('[[class]]\nname = "a"\nkernels = []\nstack = "0"', "stack = '0'"), ("[[class", "limits.toml: ")]:
            with self.assertRaises(limits.LimitsError) as caught:
                self.read(text)
            self.assertIn(said, str(caught.exception))
        with self.assertRaises(limits.LimitsError):
            limits.read(pathlib.Path("/absent/limits.toml"))

    def test_the_file_that_the_script_reads(self):
        classes = limits.read(command_line.LIMITS)
        self.assertTrue(all(c["kernels"] and len(c) > 2 for c in classes))
        self.assertEqual(limits.without_class([kernel("anything")], classes), [])


class Roof(unittest.TestCase):
    A100, H100, RTX = roof.GPUS[0], roof.GPUS[2], roof.GPUS[3]

    def check(self, gpu, wanted_share, decides, **figures):
        share, by = roof.estimate(gpu, kernel(**figures))
        self.assertEqual(by, decides)
        self.assertAlmostEqual(share, wanted_share, 2)

    def test_a_kernel_that_reaches_the_roof(self):
        for gpu in roof.GPUS:
            self.check(gpu, 1, "memory")

    def test_registers_keep_threads_out(self):
        self.assertEqual([roof.resident_warps(self.A100, r) for r in (16, 32, 33, 64, 65, 255)], [64, 64, 48, 32, 24, 8])
        self.assertEqual(roof.resident_warps(self.RTX, 32), 48)

    def test_too_few_bytes_on_their_way(self):
        on_their_way = 8 * 32 * 4  # bytes of 8 warps, of the 8639 that 600 ns of an SM's share need
        self.check(self.A100, on_their_way / (600e-9 * 1555e9 / 108), "latency", registers=255, in_flight=4)

    def test_a_stack_moves_bytes_too(self):
        self.check(self.A100, 48 / 528, "memory", local_bytes=480)

    def test_many_instructions(self):
        self.check(self.A100, (48 / 1555e9) / (4000 / (108 * 1.41e9 * 128)), "issue", instructions=4000)

    def test_f64_is_slow_where_there_are_few_units(self):
        self.check(self.A100, 1, "memory", f64=16)
        self.check(self.RTX, (48 / 1008e9) / (64 / (128 * 2.52e9 * 2)), "f64", f64=64)

    def test_what_moves_nothing_has_no_share(self):
        self.assertIsNone(roof.estimate(self.A100, kernel(load_bytes=0, store_bytes=0)))


class Tables(unittest.TestCase):
    def test_a_row_has_the_least_and_the_most_of_a_family(self):
        rows = table.by_family([kernel(stack=16), kernel(registers=40)], 80)
        self.assertEqual(rows[0][:7], ["file", "kernel", "instances", "registers", "stack", "spills", "shared"])
        self.assertEqual(rows[1][:7], ["a", "each<Add>", "2", "32–40", "0–16", "0", "0"])
        self.assertEqual(dict(zip(rows[0], rows[1]))["loads"], "8")
        self.assertEqual(dict(zip(rows[0], rows[1]))["A100 40 GB"], "100 memory")

    def test_the_estimate_is_that_of_f32(self):
        slow = kernel("each<Add, f64>", family="each<Add>", f64=64)
        self.assertEqual(table.by_family([kernel(), slow], 80)[1][-1], "100 memory")
        self.assertTrue(table.by_family([slow], 80)[1][-1].endswith(" f64"))

    def test_a_row_for_each_class_and_architecture(self):
        rows = table.by_class([kernel(f64=4), kernel("sort", architecture=90)], [EACH, REST], [80, 90])
        self.assertEqual([row[:4] for row in rows[1:]], [["elementwise", "sm_80", "1", "32"], ["rest", "sm_90", "1", "32"]])
        self.assertEqual(dict(zip(rows[0], rows[1]))["f64"], "1")

    def test_columns_of_machine_code_are_absent_without_it(self):
        self.assertEqual(len(table.by_family([kernel(with_sass=False)], 80)[0]), 7)
        self.assertEqual(len(table.by_class([kernel(with_sass=False)], [REST], [80])[0]), 7)

    def test_a_table_of_markdown(self):
        self.assertEqual(table.markdown([["file", "kernel", "n"], ["a", "b<c>", "1"]]),
                         "| file | kernel | n |\n|---|---|---|\n| a | `b<c>` | 1 |")

    def test_numbers(self):
        self.assertEqual([table.show(n) for n in (0, 0.5, 0.04321, 1, 7.04, 7.26, 880)], ["0", "0.5", "0.043", "1", "7", "7.3", "880"])


if __name__ == "__main__":
    unittest.main()

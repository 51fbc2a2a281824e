# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's allocator with segments that grow: memory is made, put to addresses, and taken away piece by piece."""

import os
import unittest
import unittest.mock

from launched import launch

BEGIN = """
import ctypes, torch
MIB, library = 1 << 20, ctypes.CDLL(None)
free = lambda: torch.cuda.mem_get_info(0)[0]
torch.ones(1, device="cuda")
torch.cuda.empty_cache()
all_free = free()
"""


class ExpandableTest(unittest.TestCase):
    def run_program(self, text, *options):
        with unittest.mock.patch.dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"):
            ended = launch(BEGIN + text, *options)
        self.assertEqual(ended.status, 0, ended.errors)
        return ended

    def test_a_segment_grows_and_shrinks(self):
        self.run_program("""
assert all_free == torch.cuda.mem_get_info(0)[1]
parts = [torch.full((3 * MIB,), float(i), device="cuda") for i in range(10)]
whole = torch.cat(parts)  # over several pieces
assert whole.sum().item() == sum(range(10)) * 3 * MIB
assert all_free - free() == torch.cuda.memory_reserved(0)
assert len({s["address"] for s in torch.cuda.memory._snapshot()["segments"] if s["total_size"] > 200 * MIB}) == 1
del parts
torch.cuda.empty_cache()
assert all_free - free() == torch.cuda.memory_reserved(0) < 200 * MIB
assert whole[-1].item() == 9
del whole
torch.cuda.empty_cache()
assert free() == all_free
""", "--strict")

    def test_a_missing_wait_over_several_pieces(self):
        ended = self.run_program("""
x = torch.ones(30 * MIB, device="cuda")
with torch.cuda.stream(torch.cuda.Stream()):
    x[29 * MIB:].sum()
torch.cuda.synchronize()
""")
        self.assertEqual([r["name"] for r in ended.reports], ["aten::sum"])
        self.assertIn("without a wait for the write by 'aten::fill_'", ended.reports[0]["text"])

    def test_each_piece_runs_out(self):
        self.run_program("""
def grow():
    parts = [torch.ones(8 * MIB, device="cuda") for _ in range(3)]
    return sum(p.sum().item() for p in parts)
calls = lambda: library.stand_in_calls(b"cuMemCreate")
before = calls()
expected = grow()
pieces = calls() - before
assert pieces >= 4, pieces
for k in range(1, pieces + 1):
    torch.cuda.empty_cache()
    assert free() == all_free
    library.stand_in_fail(f"cuMemCreate:{k}+".encode())
    try:
        grow()
        raise SystemExit(f"piece {k} of {pieces} was there")
    except torch.OutOfMemoryError:
        pass
    library.stand_in_forget_failures()
    assert grow() == expected
""", "--strict")

    def test_memory_that_is_taken_away(self):
        """A use after it is an illegal address, as after cudaFree."""
        ended = self.run_program("""
x = torch.ones(30 * MIB, device="cuda")
p = ctypes.c_void_p(x.data_ptr())
del x
torch.cuda.empty_cache()
assert library.cudaMemsetAsync(p, 0, ctypes.c_size_t(100), None) == 700
""")
        self.assertEqual([(r["kind"], r["name"]) for r in ended.reports], [("memory", "cudaMemsetAsync")])


if __name__ == "__main__":
    unittest.main()

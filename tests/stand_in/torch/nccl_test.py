# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""NCCL's calls on the stand-in: results of each type, and what is wrong in a program is told by name."""

import ctypes
import os
import struct
import threading
import unittest

import nccl
import torch
from control import LIBRARY, StandInTest, fail, forget_failures, reports
from launched import launch
from nccl import IN_PROGRESS, SUCCESS, TYPES, Communicators, call, group, last_error, succeed

N = 5  # elements of a rank
SIZE = ctypes.c_size_t
# Of each rank, small whole numbers, so that all sums are exact.
GIVEN = [torch.tensor([1, 2, 3, 0, 2]), torch.tensor([2, 0, 1, 1, 3]), torch.tensor([3, 1, 2, 2, 1]), torch.tensor([2, 1, 2, 1, 6])]


def given(dtype, copies=1):
    return [x.to(dtype).repeat(copies).to(f"cuda:{rank}") for rank, x in enumerate(GIVEN)]


def empty(dtype, n=N):
    return [torch.zeros(n, dtype=dtype, device=f"cuda:{rank}") for rank in range(len(GIVEN))]


def lists(tensors):
    return [x.tolist() for x in tensors]


class NcclTest(StandInTest):
    def setUp(self):
        super().setUp()
        self.comms = Communicators(range(4))

    def tearDown(self):
        self.comms.close()
        super().tearDown()

    def test_reductions_of_all_types(self):
        together = torch.stack(GIVEN)
        expected = {nccl.SUM: together.sum(0), nccl.PRODUCT: together.prod(0), nccl.MAXIMUM: together.amax(0), nccl.MINIMUM: together.amin(0),
                    nccl.AVERAGE: together.sum(0) // 4}  # sums are 8, 4, 8, 4, 12
        for dtype, number in TYPES.items():
            for op, result in expected.items():
                with self.subTest(dtype=dtype, op=op):
                    x, y, z, part = given(dtype), empty(dtype), given(dtype), empty(dtype, N)
                    self.comms.run("ncclAllReduce", [(x[r], y[r], SIZE(N), number, op) for r in range(4)])
                    self.comms.run("ncclReduce", [(z[r], z[r], SIZE(N), number, op, 2) for r in range(4)])
                    wide = given(dtype, 4)
                    self.comms.run("ncclReduceScatter", [(wide[r], part[r], SIZE(N), number, op) for r in range(4)])
                    self.assertEqual(lists(y), [result.tolist()] * 4)
                    self.assertEqual(lists(z), [result.tolist() if r == 2 else x.tolist() for r, x in enumerate(GIVEN)])
                    self.assertEqual(lists(part), [result.tolist()] * 4)

    def test_whole_numbers_wrap(self):
        x = [torch.full((2,), 2**31 - 1, dtype=torch.int32, device=f"cuda:{r}") for r in range(4)]
        self.comms.run("ncclAllReduce", [(x[r], x[r], SIZE(2), TYPES[torch.int32], nccl.SUM) for r in range(4)])
        self.assertEqual(lists(x), [[-4, -4]] * 4)

    def test_copies(self):
        for dtype, number in TYPES.items():
            with self.subTest(dtype):
                x, y, all_of = given(dtype), empty(dtype), empty(dtype, 4 * N)
                self.comms.run("ncclBroadcast", [(x[3], y[r], SIZE(N), number, 3) for r in range(4)])
                self.comms.run("ncclAllGather", [(x[r], all_of[r], SIZE(N), number) for r in range(4)])
                self.assertEqual(lists(y), [GIVEN[3].tolist()] * 4)
                self.assertEqual(lists(all_of), [torch.cat(GIVEN).tolist()] * 4)

    def test_in_place(self):
        whole = empty(torch.float32, 4 * N)
        own = [w[r * N:(r + 1) * N].copy_(GIVEN[r]) for r, w in enumerate(whole)]
        self.comms.run("ncclAllGather", [(own[r], whole[r], SIZE(N), 7) for r in range(4)])
        self.assertEqual(lists(whole), [torch.cat(GIVEN).tolist()] * 4)
        self.comms.run("ncclReduceScatter", [(whole[r], own[r], SIZE(N), 7, nccl.SUM) for r in range(4)])
        self.assertEqual(lists(own), [(4 * x).tolist() for x in GIVEN])

    def test_messages_in_a_ring(self):
        x, y = given(torch.float32), empty(torch.float32)
        with group():
            for r in range(4):
                succeed("ncclSend", x[r], SIZE(N), 7, (r + 1) % 4, self.comms.handles[r], self.comms.stream(r))
                succeed("ncclRecv", y[r], SIZE(N), 7, (r + 3) % 4, self.comms.handles[r], self.comms.stream(r))
        self.assertEqual(lists(y), [GIVEN[(r + 3) % 4].tolist() for r in range(4)])

    def test_factors_of_each_rank(self):
        formats = {torch.float16: "e", torch.float32: "f", torch.float64: "d", torch.int32: "i"}
        for dtype, number in TYPES.items():
            factors, ops = [4, 2, 1, 8], []
            for r, factor in enumerate(factors):
                op = ctypes.c_int()
                if dtype in formats:
                    scalar = ctypes.c_char_p(struct.pack(formats[dtype], factor))
                    succeed("ncclRedOpCreatePreMulSum", ctypes.byref(op), scalar, number, 1, self.comms.handles[r])
                else:  # read where the GPU has it
                    scalar = torch.tensor([factor], dtype=dtype, device=f"cuda:{r}")
                    ops.append((op, scalar))
                    succeed("ncclRedOpCreatePreMulSum", ctypes.byref(op), scalar, number, 0, self.comms.handles[r])
                    continue
                ops.append((op, None))
            x = given(dtype)
            self.comms.run("ncclAllReduce", [(x[r], x[r], SIZE(N), number, ops[r][0]) for r in range(4)])
            for r, (op, _) in enumerate(ops):
                succeed("ncclRedOpDestroy", op, self.comms.handles[r])
            self.assertEqual(lists(x), [sum(f * g for f, g in zip(factors, GIVEN, strict=True)).tolist()] * 4, dtype)
            self.assertEqual(call("ncclAllReduce", x[0], x[0], SIZE(N), number, ops[0][0], self.comms.handles[0], None), nccl.INVALID_ARGUMENT)

    def test_several_collectives_in_one_group(self):
        x, y = given(torch.float32), given(torch.float64)
        with group():
            for r in range(4):
                succeed("ncclAllReduce", x[r], x[r], SIZE(N), 7, nccl.SUM, self.comms.handles[r], self.comms.stream(r))
            for r in reversed(range(4)):
                succeed("ncclBroadcast", y[r], y[r], SIZE(N), 8, 1, self.comms.handles[r], self.comms.stream(r))
        self.assertEqual(lists(x), [sum(GIVEN).tolist()] * 4)
        self.assertEqual(lists(y), [GIVEN[1].tolist()] * 4)

    def test_ranks_of_several_threads(self):
        x = given(torch.float32)

        def own(r):
            torch.cuda.set_device(r)
            succeed("ncclAllReduce", x[r], x[r], SIZE(N), 7, nccl.SUM, self.comms.handles[r], self.comms.stream(r))
            torch.cuda.synchronize(r)

        threads = [threading.Thread(target=own, args=(r,)) for r in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(lists(x), [sum(GIVEN).tolist()] * 4)

    def test_missing_wait(self):
        """One for the values that a collective takes, one for those that it gives."""
        x = given(torch.float32)
        torch.cuda.synchronize(0)
        x[2].add_(1)
        side = torch.cuda.Stream(device=2)
        self.comms.stream = lambda r: ctypes.c_void_p(side.cuda_stream) if r == 2 else None
        self.comms.run("ncclAllReduce", [(x[r], x[r], SIZE(N), 7, nccl.SUM) for r in range(4)])
        x[2].sum()
        found = "\n".join(reports())
        self.assertIn("read by 'ncclAllReduce'", found)
        self.assertIn("without a wait for the write by 'aten::add_' on stream", found)
        self.assertIn("read by 'aten::sum' on stream", found)
        self.assertIn("without a wait for the write by 'ncclAllReduce'", found)

    def test_two_calls_of_one_group_on_the_same_bytes(self):
        x = given(torch.float32)
        with group():
            for r in range(4):
                succeed("ncclAllReduce", x[r], x[r], SIZE(N), 7, nccl.SUM, self.comms.handles[r], self.comms.stream(r))
                succeed("ncclBroadcast", x[r], x[r], SIZE(N), 7, 0, self.comms.handles[r], self.comms.stream(r))
        found = reports()
        self.assertEqual(len(found), 4, found)
        self.assertIn("'ncclAllReduce' and 'ncclBroadcast' of rank 0 are in one group", found[0])

    def test_arguments_that_are_wrong(self):
        x, y = given(torch.float32), empty(torch.float32, 4 * N)
        handle, stream = self.comms.handles[0], self.comms.stream(0)
        op = ctypes.c_int()
        succeed("ncclRedOpCreatePreMulSum", ctypes.byref(op), ctypes.c_char_p(struct.pack("d", 1)), 8, 1, handle)
        for code, text, name, arguments in (
                (4, "there is no type 77", "ncclAllReduce", (x[0], x[0], SIZE(N), 77, 0, handle, stream)),
                (4, "there is no rank 4 of 4", "ncclReduce", (x[0], x[0], SIZE(N), 7, 0, 4, handle, stream)),
                (4, "there is no rank -1 of 4", "ncclSend", (x[0], SIZE(N), 7, -1, handle, stream)),
                (4, "the operation was not made", "ncclAllReduce", (x[0], x[0], SIZE(N), 7, 99, handle, stream)),
                (4, "the operation is for f64, and the values are f32", "ncclAllReduce", (x[0], x[0], SIZE(N), 7, op, handle, stream)),
                (5, "its stream on GPU 1", "ncclAllReduce", (x[0], x[0], SIZE(N), 7, 0, handle, ctypes.c_void_p(torch.cuda.Stream(device=1).cuda_stream))),
                (5, "without ncclGroupStart", "ncclGroupEnd", ())):
            with self.subTest(text):
                self.assertEqual(call(name, *arguments), code)
                self.assertIn(text, last_error())
        for code, text, arguments in (
                (4, "its buffer is memory of GPU 1", (x[1], y[0], SIZE(N), 7, handle, stream)),
                (4, "its buffer is none of a GPU's", (torch.ones(N), y[0], SIZE(N), 7, handle, stream)),
                (5, "buffers that overlap, and not in place", (y[0][1:], y[0], SIZE(N), 7, handle, stream))):
            with self.subTest(text):
                self.assertEqual(call("ncclAllGather", *arguments), code)
                self.assertIn(text, reports()[0])

    def test_a_refused_call_is_the_groups_error(self):
        x = given(torch.float32)
        succeed("ncclGroupStart")
        for r in range(4):
            call("ncclAllReduce", x[r], x[r], SIZE(N), 77 if r == 3 else 7, nccl.SUM, self.comms.handles[r], self.comms.stream(r))
        self.assertEqual(call("ncclGroupEnd"), nccl.INVALID_ARGUMENT)
        self.assertEqual(lists(x), lists(GIVEN))
        self.test_in_place()  # and the next group is not

    def test_failures_by_name_and_count(self):
        fail("ncclAllReduce:2=2,ncclGroupEnd:2")
        x = given(torch.float32)

        def one():
            succeed("ncclGroupStart")
            results = [call("ncclAllReduce", x[r], x[r], SIZE(N), 7, nccl.SUM, self.comms.handles[r], self.comms.stream(r)) for r in range(4)]
            return results, call("ncclGroupEnd")

        self.assertEqual(one(), ([0, 1, 0, 0], 1))
        self.assertEqual(last_error(), "Cuda failure 2 'out of memory'")
        self.assertEqual(one(), ([0, 0, 0, 0], 1))
        self.assertEqual(one(), ([0, 0, 0, 0], 0))
        forget_failures()
        self.assertEqual(lists(x), [sum(GIVEN).tolist()] * 4)


class CommunicatorsTest(StandInTest):
    def test_that_do_not_block(self):
        """A call is under way until it was asked for, and nothing may be called before."""
        comms, x = Communicators([2, 0], blocks=False), given(torch.float32)
        with group():
            for r, gpu in enumerate(comms.gpus):
                self.assertEqual(call("ncclAllReduce", x[gpu], x[gpu], SIZE(N), 7, nccl.SUM, comms.handles[r], comms.stream(r)), IN_PROGRESS)
        self.assertEqual(call("ncclAllReduce", x[2], x[2], SIZE(N), 7, nccl.SUM, comms.handles[0], comms.stream(0)), nccl.INVALID_ARGUMENT)
        self.assertIn("before ncclCommGetAsyncError has given ncclSuccess", last_error())
        self.assertEqual([comms.state(r) for r in range(2)], [SUCCESS, SUCCESS])
        self.assertEqual(x[2].tolist(), (GIVEN[0] + GIVEN[2]).tolist())
        comms.close()
        self.assertEqual(call("ncclCommDestroy", comms.handles[0]), nccl.INVALID_ARGUMENT)
        self.assertIn("ncclCommDestroy is given a communicator that is none, or has been destroyed", reports()[0])

    def test_work_before_the_call_is_under_way_is_not_after_it(self):
        comms, x = Communicators([0, 1], blocks=False), given(torch.float32)
        with group():
            for r in range(2):
                call("ncclAllReduce", x[r], x[r], SIZE(N), 7, nccl.SUM, comms.handles[r], comms.stream(r))
        x[0].add_(1)  # a program that has not waited for ncclSuccess
        comms.settle()
        self.assertEqual(x[1].tolist(), (GIVEN[0] + GIVEN[1] + 1).tolist())
        comms.close()

    def test_all_at_once(self):
        handles, n = (ctypes.c_void_p * 2)(), ctypes.c_int()
        succeed("ncclCommInitAll", handles, 2, (ctypes.c_int * 2)(3, 1))
        for name, expected in (("ncclCommCount", 2), ("ncclCommUserRank", 0), ("ncclCommCuDevice", 3)):
            succeed(name, ctypes.c_void_p(handles[0]), ctypes.byref(n))
            self.assertEqual(n.value, expected)
        for handle in handles:
            succeed("ncclCommDestroy", ctypes.c_void_p(handle))
        self.assertEqual(call("ncclCommInitAll", handles, 2, (ctypes.c_int * 2)(1, 1)), nccl.INVALID_USAGE)
        self.assertIn("rank 1 and rank 0 both on CUDA device 1", last_error())
        self.assertEqual(call("ncclCommInitAll", handles, 2, (ctypes.c_int * 2)(1, 9)), nccl.INVALID_ARGUMENT)

    def test_ranks_that_do_not_fit(self):
        number, handle = nccl.UniqueId(), ctypes.c_void_p()
        succeed("ncclGetUniqueId", ctypes.byref(number))
        self.assertEqual(call("ncclCommInitRank", ctypes.byref(handle), 2, number, 2), nccl.INVALID_ARGUMENT)
        self.assertIn("rank 2 of 2 ranks", last_error())
        with self.assertRaises(AssertionError), group():
            succeed("ncclCommInitRank", ctypes.byref(handle), 2, number, 0)
            self.assertEqual(call("ncclCommInitRank", ctypes.byref(handle), 2, number, 1), nccl.INVALID_USAGE)
            self.assertIn("both on CUDA device 0", last_error())

    def test_abort_ends_a_wait_of_another_thread(self):
        comms, x, results = Communicators([0, 1]), given(torch.float32), []
        waits = threading.Thread(target=lambda: results.append(
            call("ncclAllReduce", x[0], x[0], SIZE(N), 7, nccl.SUM, comms.handles[0], None)))
        waits.start()
        while LIBRARY.stand_in_calls(b"ncclAllReduce") == 0:
            pass
        succeed("ncclCommAbort", comms.handles[0])
        waits.join(20)
        self.assertEqual(results, [3])
        self.assertIn("its communicator was aborted", last_error())
        succeed("ncclCommAbort", comms.handles[1])
        self.assertEqual(x[0].tolist(), GIVEN[0].tolist())


PROGRAM = """
import sys
sys.path.append({folder!r})
import ctypes, torch, nccl
comms = nccl.Communicators(range(3), blocks={blocks})
x = [torch.ones(4, device=f"cuda:{{r}}") for r in range(3)]
def call(r, name="ncclAllReduce", n=4, type=7, op=0, *more):
    nccl.succeed(name, x[r], *([] if name in ("ncclSend", "ncclRecv") else [x[r]]), ctypes.c_size_t(n), type, *([] if op is None else [op]), *more,
                 comms.handles[r], comms.stream(r))
with nccl.group():
{calls}
comms.settle()
"""


class DeadlocksTest(unittest.TestCase):
    """A program that hangs on hardware ends, and its report says who is missing."""

    def report(self, calls, blocks=True):
        text = PROGRAM.format(folder=os.path.dirname(os.path.abspath(__file__)), blocks=blocks, calls="\n".join(f"    {line}" for line in calls))
        ended = launch(text, "--deadline", "1")
        self.assertEqual(ended.status, -6, ended.errors)
        self.assertEqual([r["kind"] for r in ended.reports], ["deadlock"], ended.errors)
        return ended.reports[0]["text"]

    def test_ranks_that_never_come(self):
        for blocks in (True, False):
            self.assertIn("of rank 1 (GPU 1) waits for ever for rank 0 (GPU 0), rank 2 (GPU 2);", self.report(["call(1)"], blocks))

    def test_a_message_that_nobody_takes(self):
        self.assertIn("ncclSend of rank 0 (GPU 0) waits for ever for rank 2 (GPU 2) to call ncclRecv",
                      self.report(["call(0, 'ncclSend', 4, 7, None, 2)"]))

    def test_counts_types_and_operations_that_differ(self):
        for other, text in (("call(2, n=3)", "rank 2 (GPU 2) with ncclAllReduce of 3 f32 by sum"), ("call(2, type=2)", "4 i32 by sum"),
                            ("call(2, op=1)", "4 f32 by product"), ("call(2, 'ncclReduce', 4, 7, 0, 1)", "ncclReduce of 4 f32 by sum to rank 1")):
            with self.subTest(other):
                found = self.report(["call(0)", "call(1)", other])
                self.assertIn("rank 0 (GPU 0) with ncclAllReduce of 4 f32 by sum, and", found)
                self.assertIn(text, found)

    def test_a_message_of_another_size(self):
        self.assertIn("ncclSend of 4 f32, and rank 1 (GPU 1) with ncclRecv of 2 f32",
                      self.report(["call(0, 'ncclSend', 4, 7, None, 1)", "call(1, 'ncclRecv', 2, 7, None, 0)"]))


ONE_PROCESS = """
import copy, tempfile, torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
dist.init_process_group("nccl", rank=0, world_size=1, store=dist.FileStore(tempfile.mktemp(), 1))
torch.cuda.set_device(0)
plain = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 2)).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(copy.deepcopy(plain), device_ids=[0])
sharded = copy.deepcopy(plain)
fully_shard(sharded)
x = torch.randn(4, 8, device="cuda")
for model in (plain, ddp, sharded):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
for p, q, r in zip(plain.parameters(), ddp.parameters(), sharded.parameters()):
    assert torch.equal(p, q) and torch.equal(p, r.full_tensor())
dist.destroy_process_group()
"""


class ProcessGroupTest(unittest.TestCase):
    def test_of_one_process(self):
        """DistributedDataParallel and fully_shard train as the module does by itself."""
        ended = launch(ONE_PROCESS, "--strict")
        self.assertEqual((ended.status, ended.reports), (0, []), ended.errors)


if __name__ == "__main__":
    unittest.main()

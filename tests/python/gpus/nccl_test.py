# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Sums between PyTorch's GPUs by NCCL (backend="nccl"): results are one device's, failures have no effect, and what cannot be is refused."""

import copy
import functools
import itertools
import json
import os
import tempfile
import unittest
import unittest.mock

import torch
from control import calls, fail, forget_failures
from forms import FORMS, make_optimizer, train
from torch import distributed, nn
from torch.nn import functional as F

import tandem
from tandem.errors import InvalidArgument

MODES = ["server", "classic", "sharded", "ddp"]
ROWS = [8, 7, 3, 1, 12]  # uneven, and fewer than GPUs
SUMS = {"ncclAllReduce", "ncclReduce", "ncclReduceScatter"}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        return self.layers(x)


def make(norm=True):
    torch.manual_seed(1)
    model = Net()
    if not norm:
        model.layers[1] = nn.LayerNorm(5)
    return model


def batches(device="cuda", rows=ROWS):
    torch.manual_seed(2)
    return [(torch.randn(n, 6).to(device), torch.randn(n, 3).to(device)) for n in rows]


def loss_of(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])


def of_one_device():
    model = make(norm=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    for batch in batches("cpu"):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
    return list(model.parameters())


def counts_of(work):
    """{NCCL's function: how often it was called}"""
    before = calls()
    work()
    found = {name: n - before.get(name, 0) for name, n in calls().items() if name.startswith("nccl")}
    return {name: n for name, n in found.items() if n > 0}


class NcclTest(unittest.TestCase):
    def check(self, found, expected):
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(x.detach().cpu(), y.detach().cpu(), rtol=1e-5, atol=1e-5)

    def test_each_mode_and_form_trains_as_one_device(self):
        expected = of_one_device()
        for mode, form, chunks in itertools.product(MODES, FORMS, (None, [1.0, 0.0, 4.0, 2.0])):
            with self.subTest(mode=mode, form=form, chunks=chunks):
                model = make(norm=False).cuda()
                wrapper = tandem.DataParallel(model, mode=mode, backend="nccl", chunks=chunks)
                optimizer = make_optimizer(form, wrapper, torch.optim.AdamW, lr=0.05)
                made = counts_of(functools.partial(train, form, wrapper, optimizer, batches(), loss_of))
                self.assertTrue(SUMS & made.keys())
                self.check(model.parameters(), expected)

    def test_it_adds_up_what_copies_do(self):
        results = []
        for backend in ("local", "nccl"):
            model = make().cuda()
            wrapper = tandem.DataParallel(model, mode="server", backend=backend)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            made = counts_of(functools.partial(train, "step", wrapper, optimizer, batches(rows=[12, 9, 2]), loss_of))
            self.assertEqual(bool(SUMS & made.keys()), backend == "nccl")
            results.append([x.double() for x in model.state_dict().values()])
        self.check(*results)

    def test_a_step_is_explained(self):
        told = {}
        for backend in ("local", "nccl"):
            model = make().cuda()
            wrapper = tandem.DataParallel(model, mode="server", backend=backend)
            optimizer = tandem.Optimizer(wrapper, torch.optim.SGD, lr=0.1)
            (batch,) = batches(rows=[8])
            wrapper.step(batch, loss_of, optimizer)
            found = tandem.explain(lambda: wrapper.step(batch, loss_of, optimizer))  # noqa: B023
            explained = json.loads(found.json())
            carriers = {step["title"]: step["carriers"] for step in explained["steps"] if step["traffic"] == "gradient"}
            self.assertEqual(carriers, {"Reduce": ["NCCL" if backend == "nccl" else "copies"]})
            for text in (str(found), found.html()):
                self.assertEqual("by NCCL" in text.replace("By", "by"), backend == "nccl", text)
            self.assertIn("by copies", str(found))  # the batch
            self.assertTrue(explained["complete"])
            told[backend] = {(link["source"], link["destination"]): link["bytes_by_category"] for link in explained["links"]}
        sums = {name: {link for link in links if links[link].pop("activation", 0)} for name, links in told.items()}  # of batch norm
        gpus = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
        self.assertEqual(sums["nccl"], set(itertools.permutations(gpus, 2)))
        self.assertEqual(sums["local"], {link for link in sums["nccl"] if gpus[0] in link})  # copies of so few bytes go through one GPU
        self.assertEqual({link: sent for link, sent in told["nccl"].items() if sent}, told["local"])

    def test_its_text_says_so(self):
        self.assertIn("devices=cuda:0,cuda:1,cuda:2,cuda:3, mode=sharded, backend=nccl\n", repr(tandem.DataParallel(make().cuda(), backend="nccl")))

    def test_wrappers_come_and_go(self):
        for _ in range(3):
            model = make(norm=False).cuda()
            first, second = (tandem.DataParallel(m, backend="nccl") for m in (model, copy.deepcopy(model)))
            for batch in batches():
                self.check([first(batch[0])], [second(batch[0])])
            del first, second

    def test_each_call_of_nccl_fails_once_without_effect(self):
        model = make().cuda()
        wrapper = tandem.DataParallel(model, backend="nccl", deadline=20.0)
        (batch,) = batches(rows=[8])
        wrapper.step(batch, loss_of)  # makes the communicators
        counts = counts_of(lambda: wrapper.step(batch, loss_of))
        for name, count in counts.items():
            for k in range(1, count + 1):
                with self.subTest(name, call=k):
                    model.zero_grad()
                    before = copy.deepcopy(model.state_dict())
                    fail(f"{name}:{k}=1")
                    try:
                        with self.assertRaisesRegex(RuntimeError, f"NCCL: {name} failed.*NCCL_DEBUG=WARN"):
                            wrapper.step(batch, loss_of)
                    finally:
                        forget_failures()
                    for key, value in model.state_dict().items():
                        self.assertTrue(torch.equal(value, before[key]), key)
                    wrapper.step(batch, loss_of)

    def test_a_full_gpu_gives_kept_memory_to_nccl(self):
        torch.ones(1 << 22, device="cuda")  # PyTorch keeps its block
        kept = torch.cuda.memory_reserved()
        fail("ncclCommInitRankConfig:1=2")
        try:
            tandem.DataParallel(make().cuda(), backend="nccl")(batches()[0][0])
        finally:
            forget_failures()
        self.assertLess(torch.cuda.memory_reserved(), kept)

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(InvalidArgument, "backend is 'mpi'.*local.*nccl"):
            tandem.DataParallel(make().cuda(), backend="mpi")
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
        try:
            with self.assertRaisesRegex(InvalidArgument, "CUDA_LAUNCH_BLOCKING=1 .*; unset it, or use backend local"):
                tandem.DataParallel(make().cuda(), backend="nccl")(batches()[0][0])
        finally:
            del os.environ["CUDA_LAUNCH_BLOCKING"]

    def test_a_process_group_of_nccls_is_refused(self):
        wrapper = tandem.DataParallel(make().cuda(), backend="nccl")
        (x, _), *_ = batches()
        with tempfile.TemporaryDirectory() as folder:
            distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
            try:
                wrapper(x)  # of one process, which waits for nobody
                unittest.mock.patch.object(distributed, "get_world_size", lambda: 2).start()
                for call in (lambda: wrapper(x), wrapper.sync, lambda: tandem.DataParallel(make().cuda(), backend="nccl")):
                    with self.assertRaisesRegex(InvalidArgument, "backend is nccl, and so is that of a process group.*backend='local'"):
                        call()
                tandem.DataParallel(make().cuda())(x)
            finally:
                unittest.mock.patch.stopall()
                distributed.destroy_process_group()
        wrapper(x)


if __name__ == "__main__":
    unittest.main()

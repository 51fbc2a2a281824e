# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem run: what it asks of a step, what it replaces, and what it leaves to the program."""

import importlib.util
import json
import pathlib
import tempfile
import unittest

import launched
import tandem
import torch
from tandem.runner.program import frames_of_program
from tandem.runner.replacement import WORDS

PROGRAM = """\
import pickle, sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 384), nn.Linear(384, 32)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))

if __name__ == "__main__":
    mood = sys.argv[2]
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net().to(device)
    if device.type == "cuda" and "unwrapped" not in mood:
        model = nn.DataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(int(sys.argv[1])):
        x, y = torch.randn(18, 64).to(device), torch.randn(18, 32).to(device)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{step} {loss.item():.4f}", flush=True)
    print(sys.argv, __name__, type(pickle.loads(pickle.dumps(Net()))).__name__)
    if "wrong" in mood:
        model(torch.zeros(18, 63, device=device))
    sys.exit(5)
"""

# It tells what tandem.compare is to train with, and the program what its own loss has.
TELLS = """\
import sys
from unittest import mock
import tandem
from tandem.runner.command import main

def told(model, batch, loss, optimizer, **options):
    print(type(model).__name__, options["lr"], f"{batch[1][0].abs().max().item():.5e}")
    sys.exit(0)

with mock.patch.object(tandem, "compare", told):
    main("run", sys.argv[1:])
"""
SCALED = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.DataParallel(nn.Linear(8, 4).to("cuda"))
optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cuda")
x, y = torch.randn(6, 8).to("cuda"), torch.randn(6, 4).to("cuda")
out = model(x)
print("Linear 0.001", f"{(2 * (out - y) / y.numel()).abs().max().item():.5e}", flush=True)
scaler.scale(nn.functional.mse_loss(out, y)).backward()
scaler.step(optimizer)
"""
PROCESS_OF_DDP = """\
import sys
import torch
from torch import nn
torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 4).to("cuda"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(6, 8).to("cuda")).square().mean().backward()
optimizer.step()
torch.distributed.destroy_process_group()
"""


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.forks = launched.Forks(())
        cls.addClassCleanup(cls.forks.close)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.program = cls.folder / "train.py"
        cls.program.write_text(PROGRAM)
        cls.alone = cls.forks.run(cls.program, 4, "right")

    def run_on(self, devices, *arguments, mood="right"):
        return self.forks.run("-m", "tandem", "run", "--devices", devices, *arguments, self.program, 4, mood)

    def files(self):
        """Paths for numbers and a page, and what they are to be read with."""
        return self.folder / "a.json", self.folder / "a.html"

    def refused(self, *arguments, **variables):
        done = self.forks.run("-m", "tandem", "run", *arguments, **variables)
        self.assertNotEqual(done.status, 0)
        self.assertEqual(done.output, "")
        self.assertNotIn("Traceback", done.errors)
        return done.errors

    def test_output_arguments_and_status_are_the_programs_own(self):
        done = self.run_on("cpu:3", "--replace", "gpu0_bsz=4,mode=sharded")
        self.assertEqual((done.status, done.output), (5, self.alone.output), done.errors)
        self.assertEqual(done.errors, "train.py: tandem.DataParallel of Net on cpu:0, cpu:1, cpu:2\n")

    @launched.needed
    def test_the_same_on_gpus(self):
        done = self.run_on("cuda:3", "--replace", "gpu0_bsz=4,mode=dp-sharded")
        self.assertEqual((done.status, done.output), (5, self.alone.output), done.errors)
        self.assertEqual(done.errors, "train.py: tandem.DataParallel of Net on cuda:0, cuda:1, cuda:2\n")

    def test_a_program_that_fails_keeps_its_traceback(self):
        done = self.run_on("cpu:3", "--replace=", mood="wrong")
        self.assertEqual(done.status, 1)
        self.assertRegex(done.errors, r'Traceback .*:\n  File ".*train\.py", line \d+, in <module>\n    model\(')
        self.assertIn("mat1 and mat2 shapes cannot be multiplied", done.errors)

    def test_what_was_not_replaced_is_said(self):
        done = self.run_on("cpu:3", "--replace=", mood="unwrapped")
        self.assertEqual(done.status, 5)
        self.assertIn("train.py: nothing was replaced, as it made no torch.nn.DataParallel", done.errors)

    def test_what_was_not_replaced_is_said_below_a_traceback(self):
        done = self.run_on("cpu:3", "--replace=", mood="unwrapped, wrong")
        self.assertEqual(done.status, 1)
        failure, told = done.errors.splitlines()[-2:]
        self.assertIn("mat1 and mat2 shapes cannot be multiplied", failure)
        self.assertTrue(told.startswith("train.py: nothing was replaced, as it made no torch.nn.DataParallel; where there are no GPUs give"), told)

    def test_memory_of_what_is_replaced(self):
        numbers, page = self.files()
        done = self.run_on("cpu:3", "--replace", "mode=ddp", "--memory", "--json", numbers, "--report", page)
        self.assertEqual(done.status, 0, done.errors)
        self.assertIn("train.py: step 3", done.errors)
        self.assertNotIn("PyTorch does not say here", done.errors)
        self.assertRegex(done.errors, r"cpu:0 +6 rows ")
        self.assertEqual(len(json.loads(numbers.read_text())["devices"]), 3)
        self.assertIn("<svg", page.read_text())

    def test_explain(self):
        self.check_explain("cpu")

    @launched.needed
    def test_explain_on_gpus(self):
        self.check_explain("cuda")

    def check_explain(self, kind):
        numbers, page = self.files()
        for replace in ([], ["--replace", "mode=ddp"]):
            done = self.run_on(f"{kind}:3", *replace, "--explain", "--then", "continue", "--json", numbers, "--report", page)
            self.assertEqual((done.status, done.output), (5, self.alone.output), done.errors)
            self.assertIn("train.py: step 3", done.errors)
            self.assertRegex(done.errors, rf"{kind}:0 -> {kind}:2 ")
            self.assertNotIn(f"{kind}:3", done.errors)
            self.assertGreater(len(json.loads(numbers.read_text())["links"]), 2)
            self.assertIn("<svg", page.read_text())

    def test_compare_ddp(self):
        self.check_compare_ddp("cpu:3", "virtual device")

    @launched.needed
    def test_compare_ddp_on_gpus(self):
        self.check_compare_ddp("cuda:3", "GPU")

    def check_compare_ddp(self, devices, kind):
        numbers, page = self.files()
        done = self.run_on(devices, "--compare-ddp", "--step", 2, "--json", numbers, "--report", page)
        self.assertEqual(done.status, 0, done.errors)
        self.assertTrue(self.alone.output.startswith(done.output) and done.output)
        self.assertIn(f"train.py: step 2 of Net, made again on one {kind} (single) and on 3", done.errors)
        modes = {mode["mode"]: mode for mode in json.loads(numbers.read_text())["modes"]}
        self.assertEqual(list(modes), ["single", "torch", "ddp", "sharded"])
        for mode in modes.values():
            self.assertLess(mode.get("max_relative_difference", 0), 1e-5)
        sent = [device["bytes_sent"] for device in modes["torch"]["devices"]]
        self.assertGreater(sent[0], 2 * max(sent[1:]))
        peaks = {name: [device["peak_bytes"] for device in mode["devices"]] for name, mode in modes.items()}
        # The model has over 128 KiB: less goes through the first GPU at once, and counts there.
        self.assertLess(max(peaks["sharded"]), max(peaks["ddp"]))
        self.assertLess(max(peaks["ddp"]), 1.2 * min(peaks["ddp"]))  # so nothing of the program's is left on the first device
        self.assertGreater(peaks["torch"][0], 3 * peaks["torch"][1])
        self.assertIn("<svg", page.read_text())

    def test_compare_ddp_of_a_trainer(self):
        """Its models divide their loss by a number that it gives."""
        if importlib.util.find_spec("transformers") is None:
            self.skipTest("transformers is not there; scripts/setup --programs")
        numbers, _ = self.files()
        for program in ("trainer_bert", "trainer_gpt2"):
            done = self.forks.run("-m", "tandem", "run", "--devices", "cpu:2", "--compare-ddp", "--step", 2, "--json", numbers,
                                  pathlib.Path(__file__).parent / "programs" / f"{program}.py")
            self.assertEqual(done.status, 0, done.errors[-2000:])
            for mode in json.loads(numbers.read_text())["modes"]:
                self.assertLess(mode.get("max_relative_difference", 0), 1e-4, (program, mode["mode"]))

    def test_compare_ddp_has_the_programs_rate_and_the_gradients_without_a_scale(self):
        driver, program = self.folder / "tells.py", self.folder / "scaled.py"
        driver.write_text(TELLS)
        program.write_text(SCALED)
        done = self.forks.run(driver, "--devices", "cpu:2", "--compare-ddp", "--step", 1, program)
        self.assertEqual(done.status, 0, done.errors)
        wanted, told = done.output.splitlines()
        self.assertEqual(told, wanted)

    @launched.needed
    def test_a_program_of_ddp_on_gpus(self):
        driver, program = self.folder / "tells.py", self.folder / "process.py"
        driver.write_text(TELLS)
        program.write_text(PROCESS_OF_DDP)
        done = launched.run(driver, "--compare-ddp", "--step", 1, program, self.folder / "store", options=("--gpus", "2"))
        self.assertEqual((done.status, done.output[:11]), (0, "Linear 0.1 "), done.errors)
        done = launched.run("-m", "tandem", "run", "--replace=", program, self.folder / "store2", options=("--gpus", "2"))
        self.assertEqual(done.status, 0, done.errors)
        self.assertIn("process.py: nothing was replaced: its DistributedDataParallel has one process for each GPU, and is left as it is", done.errors)

    def test_what_looks_at_one_process_is_refused_under_a_launcher(self):
        for option, *rest in (["--explain", "--devices", "cpu:2"], ["--compare-ddp", "--devices", "cpu:2"], ["--largest-batch", "32,64"]):
            with self.subTest(option):
                self.assertRegex(self.refused(option, *rest, self.program, RANK="1", LOCAL_WORLD_SIZE="2"),
                                 f"run: {option} looks at one process, and torchrun has started 2 here: .* ask --memory")

    def test_compare_ddp_without_a_step(self):
        done = self.run_on("cpu:3", "--compare-ddp", "--step", 9)
        self.assertEqual(done.status, 5)
        self.assertIn("train.py: it made 4 of 9 steps of an optimizer, so that none was compared", done.errors)

    def test_help_has_examples(self):
        done = self.forks.run("-m", "tandem", "run", "--help")
        self.assertEqual(done.status, 0)
        for part in ("--replace gpu0_bsz=40,mode=sharded train.py", "--compare-ddp", "--explain", "--devices cpu:4", "torchrun"):
            self.assertIn(part, done.output)

    def test_options_that_are_none(self):
        for options, text in (
            (["--replace", "gpu0_bsz"], r"gpu0_bsz is no OPTION=VALUE; give options, such as --replace gpu0_bsz=40,mode=sharded"),
            (["--replace", "gpu0_bs=4"], r"there is no option gpu0_bs; did you mean gpu0_bsz\?"),
            (["--replace", "devices=cpu:4"], r"devices are given to run: --devices cpu:4"),
            (["--replace", "gpu0_bsz=few"], r"gpu0_bsz is 'few'; give a number"),
            (["--replace", "chunk_sizes=4:x"], r"chunk_sizes is '4:x'; give numbers, such as chunk_sizes=40:72"),
            (["--replace", "chunks=fast"], r"chunks is 'fast'; give even, torch chunk, free memory, planned or numbers, such as chunks=1:2"),
            (["--replace", "chunks=1:x"], r"chunks is '1:x'; give even, torch chunk"),
            (["--replace", "mode=fast"], r"--replace mode=fast: there is no such mode; there are .*sharded"),
            (["--replace", "backend=gloo"], r"--replace backend=gloo: backend is 'gloo'; give local or nccl"),
            (["--replace", "on_oom=retry"], r"on_oom is 'retry'; give error or replan"),
            (["--explain"], r"--explain: PyTorch sees no GPU; give --devices cpu:4 for virtual devices, or cuda:4 for a stand-in's"),
            (["--compare-ddp"], r"--compare-ddp: PyTorch sees no GPU; give --devices cpu:4"),
            (["--devices", "cpu:2", "--compare-ddp", "--replace="], r"leave out --replace and --then continue"),
            (["--replace=", "--report", "a.html"], r"--report of what\? Give --memory or --explain beside --replace"),
            (["--memory", "--explain"], r"not allowed with argument --memory"),
        ):
            with self.subTest(options):
                self.assertRegex(self.refused(*options, self.program, 4, "right"), text)

    def test_words_of_options_are_those_of_the_wrapper(self):
        for name, words in WORDS.items():
            for word in words:
                if word != "nccl":  # which is of GPUs
                    tandem.DataParallel(torch.nn.Linear(2, 2), devices="cpu:2", **{name: word})
            with self.assertRaisesRegex(tandem.errors.InvalidArgument, ".*".join(sorted(words))):
                tandem.DataParallel(torch.nn.Linear(2, 2), devices="cpu:2", **{name: "none of them"})

    def test_an_error_of_the_command_is_a_sentence_though_a_block_of_contextlib_raises_it(self):
        errors = self.refused("--replace=", "--devices", "cpu:65", self.program, 4, "right")
        self.assertIn("tandem: register_devices: 65 devices; expected 1 to 64", errors)

    def test_a_program_beside_the_package_keeps_its_traceback(self):
        file = str(pathlib.Path(tandem.__file__).parent) + "_of_mine.py"
        try:
            exec(compile("1 / 0", file, "exec"))
        except ZeroDivisionError as error:
            raised = error.with_traceback(error.__traceback__.tb_next)  # without this test's own frame
        self.assertEqual(frames_of_program(raised).tb_frame.f_code.co_filename, file)

    def test_options_have_no_short_forms(self):
        for short in ("--dev", "--repl"):
            self.assertIn(f"unrecognized arguments: {short}", self.refused(short, "cpu:2", self.program, 4, "right"))

    def test_an_unknown_option_names_the_one_that_was_meant(self):
        self.assertIn("unrecognized arguments: --replce; did you mean --replace?", self.refused("--replce", "mode=ddp", self.program))
        self.assertTrue(self.refused("--colour", self.program).endswith("unrecognized arguments: --colour\n"))

    def test_a_program_that_is_taken_for_options(self):
        self.assertIn("as --replace has taken train.py: write --replace= train.py", self.refused("--replace", "train.py"))


if __name__ == "__main__":
    unittest.main()

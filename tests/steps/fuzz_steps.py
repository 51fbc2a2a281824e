#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Random trainings of PyTorch by tandem in all modes, beside PyTorch on one device. See scripts/fuzz-steps --help."""

import argparse
import ctypes
import dataclasses
import pathlib
import random
import re
import sys
import time

import tandem
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import side as sides_file  # noqa: E402
from side import KINDS, MODES, Changed, Setup, Side, difference  # noqa: E402

TOLERANCE = 1e-7


@dataclasses.dataclass
class Case:
    """A training and what is done in it; "look" at a statement's end compares all that a user can read."""

    setup: Setup
    statements: list


def on_gpus():
    return sides_file.DEVICES == "cuda"


def make_net(r, norms):
    width, words = r.randint(1, 6), []
    for _ in range(r.randint(1, 3)):
        size = r.randint(90, 170) if r.random() < 0.1 else r.randint(1, 7)
        norm = norms and r.random() < 0.5
        words.append(f"{'plain' if norm else 'linear'}:{width}:{size}")
        own = len(words) - 1
        words += [f"norm:{size}"] * norm
        for word, chance in (("tanh" if norm else r.choice(("tanh", "relu")), 0.5), (f"layernorm:{size}", 0.2), (f"again:{own}", 0.2 if size == width and not norm else 0),
                             (f"extra:{size}", 0.15), (f"spare:{r.randint(1, 3)}", 0.15), ("count", 0.12), ("cache", 0.1)):
            if r.random() < chance:
                words.append(word)
        width = size
    return " ".join(word + "*" * (r.random() < 0.12 and word not in ("count", "cache")) for word in words)


def make_setup(r):
    setup = Setup(net=make_net(r, r.random() < 0.35), optimizer=r.choice(list(KINDS)), shared=r.random() < 0.5, loss=r.choice(("mean", "sum", "weighted")),
                  scaler=r.random() < 0.15, averages=r.random() < 0.2, devices=r.randint(1, 5), drift=r.random() < 0.15, seed=r.randint(0, 999))
    if r.random() < 0.3:
        setup.chunks = (r.randint(0, 4),)
    elif r.random() < 0.4 and setup.devices > 1:
        setup.chunks = tuple(r.randint(0, 5) + 30 * (d == 0) for d in range(setup.devices))
    if r.random() < 0.35 and not setup.scaler:
        setup.accumulate = r.randint(2, 4)
    if "norm:" in setup.net.replace("layernorm:", "") and r.random() < 0.2:
        setup.norms = "per_replica"
    setup.nccl = r.random() < 0.3
    return setup


def make_statement(r):
    rows, seed, p = (r.randint(1, 3) if r.random() < 0.3 else r.randint(1, 20)), r.randint(0, 999), r.randint(0, 11)
    text = r.choice([f"step {rows} {seed} 1"] * 6 + [f"step {rows} {seed} 0"] + [
        f"backward {rows} {seed} {r.choice((0, 0, r.randint(1, 12)))} {int(r.random() < 0.7)}"] * 4 + [
        f"evaluate {rows} {seed}", f"zero_grad {r.randint(0, 1)}", "update", "update", f"clip {r.randint(1, 100)}", "scale_gradients 50",
        f"set_gradient {p} 30", f"drop_gradient {p}", f"train {int(r.random() < 0.7)}", f"freeze {p}", f"freeze {p}", f"thaw {p}", f"hook {p}",
        f"unhook {p}", f"write {p} 90", "learning_rate 20", "average", "reload", "wrap_again", "synchronise", f"late {rows} {seed}"])
    if text.startswith("step") and r.random() < 0.15:
        text = f"fail {r.randint(1, 40)} {text}"
    return text + " look" * (r.random() < 0.3)


def random_case(seed):
    r = random.Random(seed)
    return Case(make_setup(r), [make_statement(r) for _ in range(r.randint(2, 10))])


def to_text(case):
    plain = Setup()
    lines = [f"{f.name} {getattr(case.setup, f.name)!r}" for f in dataclasses.fields(Setup) if getattr(case.setup, f.name) != getattr(plain, f.name)]
    return "\n".join(lines + ["  " + s for s in case.statements]) + "\n"


def parse(text):
    case = Case(Setup(), [])
    for line in text.splitlines():
        if line.startswith("  "):
            case.statements.append(line.strip())
        elif line and not line.startswith("#"):
            name, value = line.split(" ", 1)
            setattr(case.setup, name, eval(value, {"__builtins__": {}}))
    return case


def to_program(case, finding):
    return (f"# {finding}\n" + (HERE / "side.py").read_text() + f"""

DEVICES = {sides_file.DEVICES!r}
torch.set_default_dtype(torch.float64)
if DEVICES == "cpu":
    tandem.configure_devices("cpu:8")
setup = {case.setup!r}
for mode in MODES:
    one, many = Side(setup), Side(setup, mode)
    for statement in {case.statements!r}:
        one.run(statement)
        many.run(statement)
    print(mode, difference(many.observe(), one.observe(), {TOLERANCE}))
""")


def attempt(side, statement):
    """A statement on one side. @return why it was refused; "": it went well"""
    try:
        side.run(statement)
        return ""
    except Changed:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def found_by_stand_in():
    """Its reports since the last question; none on GPUs of a machine."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "stand_in_reports"):
        return []
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)
    library.stand_in_report.restype = ctypes.c_char_p
    found = [library.stand_in_report(i).decode() for i in range(library.stand_in_reports())]
    library.stand_in_forget_reports()
    return found


def check(case):
    """@return what is wrong; None: nothing is."""
    try:
        finding = compare(case)
    except Changed as error:
        finding = str(error)
    reports = found_by_stand_in() if on_gpus() else []
    return finding or (f"{len(reports)} reports of the stand-in, first: {reports[0]}" if reports else None)


def is_rounding(case, count):
    """Whether one device alone is as far off after `count` statements if its first parameters differ by rounding: then a difference says nothing."""
    one, other = Side(case.setup), Side(case.setup)
    other.jitter(1e-14)
    for statement in case.statements[:count]:
        attempt(one, statement)
        attempt(other, statement)
    return bool(difference(other.observe(), one.observe(), TOLERANCE / 8))


def compare(case):
    one, sides = Side(case.setup), [Side(case.setup, mode) for mode in MODES]
    if case.setup.norms != "synchronised" and "norm:" in case.setup.net.replace("layernorm:", ""):
        one = sides.pop(0)
    for i, statement in enumerate(case.statements):
        refusal = attempt(one, statement)
        for side in sides:
            own = attempt(side, statement)
            if bool(own) != bool(refusal):
                return f"'{statement}': {side.mode} " + (f"refuses: {own}" if own else f"takes what others refuse: {refusal}")
        if refusal:
            return None
        looks = statement.endswith(" look") or i + 1 == len(case.statements)
        right = one.observe() if looks else {k: v.double().cpu() for k, v in one.told.items()}
        for side in sides:
            own = side.observe() if looks else {k: v.double().cpu() for k, v in side.told.items()}
            if text := difference(own, right, TOLERANCE):
                if one.mode is None and is_rounding(case, i + 1):
                    return None
                return f"'{statement}': {side.mode} differs from {one.mode or 'one device'} in {text}"
    return None


def kind_of(finding):
    text = re.sub(r"[\d.]+(e-?\d+)?", "", finding.split("': ", 1)[-1])
    return text.split(" in ")[0] + " in " + text.split(" in ")[1].split(" ")[0] if "differs" in text else text


def shrink(case, kind):
    def fails(smaller):
        finding = check(smaller)
        return finding is not None and kind_of(finding) == kind

    def candidates(c):
        for i in reversed(range(len(c.statements))):
            yield Case(c.setup, c.statements[:i] + c.statements[i + 1:])
        words = c.setup.net.split()
        for i in reversed(range(len(words))):
            yield Case(dataclasses.replace(c.setup, net=" ".join(words[:i] + words[i + 1:])), c.statements)
        for field in dataclasses.fields(Setup)[1:]:
            if getattr(c.setup, field.name) != field.default:
                yield Case(dataclasses.replace(c.setup, **{field.name: field.default}), c.statements)
        for i, statement in enumerate(c.statements):
            parts = statement.split()
            if parts[-1] == "look":
                yield Case(c.setup, c.statements[:i] + [" ".join(parts[:-1])] + c.statements[i + 1:])
            for w in range(1, len(parts)):
                for number in ("0", "1", "2", "3"):
                    if parts[w] != "look" and (len(parts[w]) > 1 or parts[w] > number):
                        yield Case(c.setup, c.statements[:i] + [" ".join(parts[:w] + [number] + parts[w + 1:])] + c.statements[i + 1:])

    smaller = True
    while smaller:
        smaller = False
        for candidate in candidates(case):
            try:
                smaller = bool(candidate.statements) and "linear" in candidate.setup.net and fails(candidate)
            except Exception:  # a net that cannot be made
                continue
            if smaller:
                case = candidate
                break
    return case


class Run:
    def __init__(self, request):
        self.request, self.passed, self.findings = request, 0, 0
        self.folder = pathlib.Path(request.output)
        self.folder.mkdir(parents=True, exist_ok=True)

    def try_case(self, case, name):
        (self.folder / "current.pycase").write_text(to_text(case))
        finding = check(case)
        if finding is None:
            self.passed += 1
            return
        self.findings += 1
        small = shrink(case, kind_of(finding))
        text = check(small) or finding
        file = self.folder / f"finding{self.findings}"
        file.with_suffix(".pycase").write_text(f"# {text}\n{to_text(small)}")
        file.with_suffix(".py").write_text(to_program(small, text))
        print(f"\n{name}: {text}\n{to_text(small)}program: {file.with_suffix('.py')}", flush=True)

    def run(self):
        files = [f for name in self.request.files for f in (sorted(pathlib.Path(name).glob("*.pycase")) if pathlib.Path(name).is_dir() else [pathlib.Path(name)])]
        for file in files:
            self.try_case(parse(file.read_text()), str(file))
        if not self.request.files:
            self.run_random()
        print(f"{self.passed} passed, {self.findings} failed")
        return self.findings > 0

    def run_random(self):
        r, begin = self.request, time.monotonic()
        told, k = begin, 0
        while (not r.cases or k < r.cases) and (not r.seconds or time.monotonic() < begin + r.seconds) and self.findings < r.findings:
            self.try_case(random_case(r.seed + k), f"seed {r.seed + k}")
            k += 1
            if time.monotonic() > told + 10:
                told = time.monotonic()
                print(f"{k} cases, {self.findings} findings", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=0, help="how many; 0: until the time is over")
    parser.add_argument("--seconds", type=int, default=0, help="for how long; 0: no limit")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; each one more has the next")
    parser.add_argument("--findings", type=int, default=1, help="after how many to stop")
    parser.add_argument("--output", default="build/fuzz-steps", help="where findings go")
    parser.add_argument("--gpus", action="store_true", help="on the GPUs of PyTorch, of which the stand-in plays five")
    parser.add_argument("files", nargs="*", help="cases, or folders of *.pycase, in place of random ones")
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    request = parser.parse_args()
    if request.gpus:
        sides_file.DEVICES = "cuda"
    else:
        tandem.configure_devices("cpu:8")
    sys.exit(Run(request).run())


if __name__ == "__main__":
    main()

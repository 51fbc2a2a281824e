# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""--help and --help-all, and what a name says that a command had before."""

import json
import re

from program import DIGITS, ProgramTest, main

PURPOSES = ["Start here", "Train", "Machines", "Processes"]
SUBJECTS = ["Model", "Data", "Optimizer", "Precision and seed", "Steps", "Batch", "Mode and sharding", "Devices and memory",
            "Simulated machine", "Collectives", "Measured tables", "Checkpoints", "Generated text", "Processes", "Output", "Help"]
SCREEN = 24  # lines of 80 columns
HELP = {"--help", "--help-all"}


def groups(text):
    """The indented lines below each heading."""
    found = {}
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][\w ]*:", line):
            found[line[:-1]] = lines = []
        elif found and line.startswith("  "):
            lines.append(line)
    return found


def flags(lines):
    """The long names of the flags that lines begin with."""
    return [re.search(r"--[\w-]+", line).group() for line in lines if re.match(r"  -", line)]


class HelpTest(ProgramTest):
    def names(self, *family):
        text = self.succeed(*family, "--help").stdout
        return [[*family, line.split()[0]] for group in (["Commands"] if family else PURPOSES) for line in groups(text)[group]]

    def commands(self):
        """All that do something, as words."""
        of_python = [["run"]]
        return [name for name in self.names() if name not in [["cluster"], *of_python]] + self.names("cluster")

    def test_the_commands_fit_a_screen(self):
        for family in ([], ["cluster"]):
            lines = self.succeed(*family, "--help").stdout.splitlines()
            self.assertLessEqual(len(lines), SCREEN)
            self.assertLessEqual(max(map(len, lines)), 80)
        self.assertLessEqual(len(self.names()), 14)
        self.assertEqual(self.names()[0], ["run"])
        self.assertNotIn(["completion"], self.names())
        self.assertEqual([group for group in groups(self.succeed("--help").stdout) if group != "Help"], PURPOSES)
        self.assertEqual([words[1] for words in self.names("cluster")], ["list", "show", "check", "calibrate", "simulate", "sweep"])

    def test_every_flag_has_a_subject(self):
        for command in self.commands():
            with self.subTest(command):
                found = groups(self.succeed(*command, "--help-all").stdout)
                found.pop("Positionals", None)
                self.assertEqual([subject for subject in SUBJECTS if subject in found], list(found))
                by_subject = [flag for lines in found.values() for flag in flags(lines)]
                self.assertEqual(len(set(by_subject)), len(by_subject))
                self.assertEqual(flags(found["Help"]), ["--help", "--help-all"])
                self.assertGreater(len(by_subject), 2)

    def test_help_has_the_ten_that_most_need_and_says_where_the_rest_is(self):
        for command in self.commands():
            with self.subTest(command):
                text = self.succeed(*command, "--help").stdout
                everything = self.succeed(*command, "--help-all").stdout
                of_all = {flag for lines in groups(everything).values() for flag in flags(lines)} - HELP
                if text == everything:
                    self.assertLessEqual(len(of_all), 10)
                    continue
                found = groups(text)
                self.assertEqual([subject for subject in SUBJECTS if subject in found], list(found))
                for subject, lines in found.items():
                    self.assertLessEqual(set(flags(lines)), set(flags(groups(everything)[subject])))
                first = [flag for lines in found.values() for flag in flags(lines)]
                self.assertLessEqual(len(first), 10)
                self.assertLess(set(first), of_all)
                line = f"tandem {' '.join(command)} --help-all prints all {len(of_all | HELP)} options."
                self.assertIn(line, text.splitlines()[-4:])

    def test_descriptions_are_broken_between_words(self):
        for command in self.commands():
            for line in self.succeed(*command, "--help-all").stdout.splitlines():
                if not re.match(r"  \S", line):  # the values that a flag takes stay on its line
                    self.assertLessEqual(len(line), 80)


class FormerNameTest(ProgramTest):
    def new_line(self, *words, says):
        done = self.fail_with(2, *words, says=["now: " + says])
        self.assertTrue(done.stderr.endswith(f"now: {says}\n"), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertTrue(done.stderr.startswith(f"tandem: '{words[0]}' is "))

    def test_says_the_new_line_with_the_same_arguments(self):
        self.new_line("verify", says="tandem compare --verify")
        self.new_line("verify", *DIGITS, "--mode", "ddp", "--json", says="tandem compare --verify --data digits --batch 64 --mode ddp --json")
        self.new_line("simulate", "--cluster", "t4x4", says="tandem cluster simulate --cluster t4x4")
        self.new_line("sweep", "--gpus", "1,2", says="tandem cluster sweep --gpus 1,2")
        self.new_line("calibrate", "--allreduce", "times_n*.csv", "--out", "it's", says=r"tandem cluster calibrate --allreduce 'times_n*.csv' --output 'it'\''s'")

    def test_says_what_writes_the_file(self):
        self.new_line("report", "--lr", "1", says="tandem compare --html report.html --lr 1")
        self.new_line("report", "--output", "a b.html", "--lr", "1", says="tandem compare --html 'a b.html' --lr 1")
        self.new_line("trace", says="tandem explain --trace trace.json")
        self.new_line("trace", "--steps", "2", "--output=-", says="tandem explain --steps 2 --trace=-")
        self.new_line("trace", "--output-device", "cpu:1", says="tandem explain --trace trace.json --output-device cpu:1")

    def test_the_new_lines_work(self):
        words = self.run_program("verify", *DIGITS, "--steps", "1", "--devices", "cpu:2", "--json").stderr.split("now: tandem ")[1].split()
        self.assertEqual(set(json.loads(self.succeed(*words).stdout)),
                         {"schema_version", "model", "data", "steps", "dtype", "devices", "relative_difference", "worst_tensor", "tolerance", "equal"})
        words = self.run_program("trace", *DIGITS, "--steps", "1", "--devices", "cpu:2").stderr.split("now: tandem ")[1].split()
        self.assertIn("trace.json: ", self.succeed(*words).stdout)


class FormTest(ProgramTest):
    def test_what_belongs_to_a_form(self):
        self.fail_with(2, "compare", "--mode", "ddp", says=["--mode", "give --verify too, or --modes"])
        self.fail_with(2, "compare", "--gather-outputs", says=["--gather-outputs", "--verify"])
        for other in (["--modes", "ddp"], ["--details"], ["--html", "x.html"], ["--shape-only"]):
            self.fail_with(2, "compare", "--verify", *other, says=[other[0], "--verify"])
        for other in (["--data", "digits"], ["--steps", "2"], ["--lr", "1"], ["--quiet"]):
            self.fail_with(2, "explain", *other, says=[other[0], "--trace"])

    def test_verify_takes_adamw_unless_another_is_named(self):
        def loss(*optimizer):
            return self.succeed("compare", *optimizer, "--verify", *DIGITS, "--steps", "3", "--devices", "cpu:2").stderr

        self.assertEqual(loss(), loss("--optimizer", "adamw"))
        self.assertNotEqual(loss(), loss("--optimizer", "sgd"))

    def test_a_page_beside_the_table(self):
        run = ["compare", *DIGITS, "--steps", "1", "--devices", "cpu:2", "--modes", "single,ddp"]
        done = self.succeed(*run, "--html", "page.html", "--json", "page.json")
        self.assertIn("cnn-small on digits", done.stdout)
        self.assertRegex(done.stdout, r"\npage\.html: 2 modes, [\d.]+ KiB; open it in a browser\n$")
        with open(self.file("page.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["modes"]), 2)

    def test_a_trace_and_its_explanation(self):
        run = ["explain", *DIGITS, "--steps", "2", "--devices", "cpu:2", "--trace", "trace.json"]
        explained = json.loads(self.succeed(*run, "--json").stdout)
        self.assertEqual([d["rows"] for d in explained["devices"]], [32, 32])
        with open(self.file("trace.json"), encoding="utf-8") as file:
            self.assertIn("traceEvents", json.load(file))


if __name__ == "__main__":
    main()

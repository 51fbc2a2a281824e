# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""doctor says what is on this machine, and what to do about what is not."""

import json
import os
import stat

from program import ProgramTest, environment, main

KEYS = ["tandem", "system", "cores", "memory", "devices", "gpus", "python", "plugins", "data", "process"]
TITLES = ["tandem", "system", "cores", "memory", "devices", "GPUs", "Python", "plug-ins", "data", "process"]


class DoctorTest(ProgramTest):
    def facts(self, **extra):
        return json.loads(self.succeed("doctor", "--json", **extra).stdout)

    def python(self, script):
        """A python3 of this test alone, on the path before all others."""
        folder = self.file("bin")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "python3"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(os.path.join(folder, "python3"), stat.S_IRWXU)
        return {"PATH": folder + ":" + environment()["PATH"]}

    def answers(self, **facts):
        return self.python("echo '" + json.dumps({"version": "3.11.2", "torch": None, "torch_cuda": None, "torch_hip": None, "tandem": None, **facts}) + "'\n")

    def test_one_line_for_each_thing(self):
        lines = self.succeed("doctor").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[:len(TITLES)]], TITLES)
        self.assertEqual(set(self.facts()), {"schema_version", "remedies", *KEYS})

    def test_what_is_asked_of_the_machine(self):
        facts = self.facts(TANDEM_THREADS="3", TANDEM_DEVICES="cpu:2")
        self.assertEqual(facts["cores"]["usable"], 3)
        self.assertEqual(facts["cores"]["all"], os.cpu_count())
        self.assertEqual(facts["devices"], ["cpu:0", "cpu:1"])
        self.assertEqual(sorted(facts["process"]["variables"]), ["TANDEM_DEVICES=cpu:2", "TANDEM_THREADS=3"])
        self.assertEqual(facts["system"].split()[0], os.uname().sysname)
        self.assertIn(" built with openblas", self.succeed("doctor").stdout)  # without which no build is

    def test_missing_data_come_with_a_remedy(self):
        facts = self.facts()
        self.assertIsNone(facts["data"]["digits"])
        for name, wrong in facts["data"].items():
            if wrong is not None:
                self.assertIn("dataset-" + name, wrong)
                self.assertIn(f"data: {wrong}", facts["remedies"])

    def test_a_plug_in_that_cannot_be_loaded(self):
        for name in ("gloo", "mpi"):
            with open(self.file(f"libtandem-{name}.so"), "w", encoding="utf-8") as file:
                file.write("no library")
        facts = self.facts(TANDEM_PLUGINS=self.directory)
        for name in ("gloo", "mpi"):
            self.assertRegex(facts["plugins"][name], f"^{name}: .*libtandem-{name}.so.*; install ")
        self.assertIn("plug-ins  none\n", self.succeed("doctor", TANDEM_PLUGINS=self.directory).stdout)

    def test_python_and_its_packages(self):
        def says(**answers):
            done = self.succeed("doctor", **self.answers(**answers)).stdout
            return next(line for line in done.splitlines() if line.startswith("Python "))

        self.assertEqual(says(), "Python    Python 3.11.2, no PyTorch, no package tandem-dp")
        self.assertEqual(says(torch="2.15.0", torch_cuda="13.0", tandem="0.1.0"), "Python    Python 3.11.2, PyTorch 2.15.0 for CUDA 13.0, tandem-dp 0.1.0")
        self.assertIn("Python: for programs of PyTorch: pip install torch", self.facts(**self.answers(tandem="0.1.0"))["remedies"])
        self.assertFalse([text for text in self.facts(**self.answers(tandem="0.1.0", torch="2.15.0"))["remedies"] if text.startswith("Python")])

    def test_python_that_is_not_there_or_says_nothing(self):
        for script in ("exit 3\n", "echo hello\n", ""):
            facts = self.facts(**self.python(script))
            self.assertIsNone(facts["python"])
            self.assertIn("Python: for programs of PyTorch, install Python 3.11 or later", facts["remedies"])
            self.assertIn("Python    none: python3 ended without an answer\n", self.succeed("doctor", **self.python(script)).stdout)
        self.assertIn("Python    none: no python3 can be started\n", self.succeed("doctor", PATH=self.file("nowhere")).stdout)

    def test_the_real_python_is_asked(self):
        self.assertRegex(self.facts()["python"]["version"], r"^3\.\d+\.\d+")


if __name__ == "__main__":
    main()

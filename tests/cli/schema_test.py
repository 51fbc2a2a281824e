# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Each --json is what its schema says, which the installation has in share/tandem/schema."""

import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: Python has no jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

import iterations_test
import json_test
from program import ProgramTest, main

SCHEMAS = pathlib.Path(__file__).parents[2] / "src/cli/schemas"
SIMULATED = {"--allreduce": "allreduce", "--iterations": "iterations"}


def schema_of(command):
    """The name of the schema of a command line."""
    name = "-".join(command[:2] if command[0] == "cluster" else command[:1])
    if command[:2] == ["compare", "--verify"]:
        return "compare-verify"
    if name == "cluster-simulate":
        return f"{name}-{next((form for flag, form in SIMULATED.items() if flag in command), 'step')}"
    return name


class SchemaTest(ProgramTest):
    def commands(self):
        with open(self.file("steps.csv"), "w", encoding="utf-8") as file:
            file.write(iterations_test.HEAD + "\nmlp,ddp,2,64,0,9\nresnet18,single,1,32,0,9\n")
        self.succeed("cluster", "show", "t4x4", "--json", self.file("t4x4.json"))
        steps = ["--cluster", iterations_test.MACHINE, "--iterations", "steps.csv"]
        step = ["--cluster", "t4x4", "--gpus", "2", "--model", "mlp"]
        return [
            *json_test.JsonTest.commands(self),
            ["cluster", "check", "t4x4.json"],
            ["cluster", "show", "v100-16x8"],
            ["cluster", "show", "h100x8"],
            ["cluster", "simulate", "--cluster", "t4x4", "--model", "mlp"],
            ["cluster", "simulate", *steps],
            ["cluster", "calibrate", *steps, "--output", "fitted.json"],
            ["collectives", "--cluster", "t4x4", "-e", "4K"],
            ["memory", *step, "--steps", "1"],
            ["memory", *json_test.RUN, "--shape-only"],
            ["explain", *step],
            ["largest-batch", *step],
            ["devices", "--devices", "cpu:2@1MiB"],
            ["train", *json_test.RUN, "--lr", "1e30"],
        ]

    def test_each_command_writes_what_its_schema_says(self):
        used = set()
        for command in self.commands():
            with self.subTest(command=command):
                name = schema_of(command)
                used.add(name)
                validator = jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text()))
                report = json.loads(self.succeed(*command, "--json").stdout)
                self.assertEqual([f"{list(e.path)}: {e.message}" for e in validator.iter_errors(report)], [])
                self.assert_exact(validator, report)
        self.assertEqual(used, {path.stem for path in SCHEMAS.glob("*.json")})

    def assert_exact(self, validator, report):
        """Another type of a top-level value is refused, and so is a value that the schema does not name."""
        for key in report:
            self.assertFalse(validator.is_valid({**report, key: {"of another": ["type"]}}), key)
        self.assertFalse(validator.is_valid({**report, "unknown": 1}))
        self.assertFalse(validator.is_valid({key: value for key, value in report.items() if key != "schema_version"}))

    def test_schemas_are_schemas(self):
        for path in SCHEMAS.glob("*.json"):
            jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


if __name__ == "__main__":
    main()

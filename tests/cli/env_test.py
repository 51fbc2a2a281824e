# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem env tells what a launcher's variables say."""

import json
import os
import subprocess

from program import DEADLINE, ProgramTest, main, path

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "node1",
            "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "x", "TORCHELASTIC_USE_AGENT_STORE": "True"}


class EnvTest(ProgramTest):
    def run_with(self, variables, *arguments):
        names = ("RANK", "WORLD_SIZE", "OMPI_", "HOROVOD_", "PMI_", "SLURM_")
        own = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        return subprocess.run([path(), "env", *arguments], env=own | variables, capture_output=True, text=True,
                              check=False, timeout=DEADLINE)

    def test_text(self):
        self.assertIn("no launcher has started this process", self.run_with({}).stdout)
        self.assertEqual(self.run_with(TORCHRUN).stdout,
                         "rank 1 of 2 (local 1 of 2, node 0 of 1), started by torchrun, run x; store at node1:29500, "
                         "which the launcher serves\n")

    def test_json(self):
        self.assertIsNone(json.loads(self.run_with({}, "--json").stdout)["launcher"])
        told = json.loads(self.run_with(TORCHRUN, "--json").stdout)
        self.assertEqual((told["rank"], told["world_size"]), (1, 2))
        self.assertEqual(told["store"], {"address": "node1:29500", "served_by": "launcher"})

    def test_a_wrong_variable_is_named(self):
        done = self.run_with(TORCHRUN | {"RANK": "two"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("RANK='two'", done.stderr)


if __name__ == "__main__":
    main()

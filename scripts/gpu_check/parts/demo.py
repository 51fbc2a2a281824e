# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Part demo: a network is trained, and the weights are compared with those of one device."""

from ..figures import read_file, read_json
from ..steps import Step


def steps(plan):
    trained = plan.out / "train.json"
    common = ["--model", "cnn-small", "--data", "digits", "--devices", "cuda:0x4", "--batch", "256"]
    return [
        Step("demo/train", "demo", [plan.program, "train", *common, "--gpu0-bsz", "40", "--epochs", "8",
                                    "--json", trained], plan.environment(), read=read_file(trained), writes=trained),
        Step("demo/verify", "demo", [plan.program, "compare", "--verify", *common, "--chunk-sizes", "40,72,72,72",
                                     "--steps", "20", "--dtype", "f64", "--json", "-"], plan.environment(), read=read_json)]

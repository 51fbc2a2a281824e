# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Which PyTorch and which GPU is here; builds tandem's adapter for it if there is none, and takes a step by it."""

import platform
import subprocess
import sys

import torch
from telling import tell


def build_adapter():
    """By python -m tandem adapter; what it says is an error's text."""
    done = subprocess.run([sys.executable, "-B", "-m", "tandem", "adapter"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout)
    tell("build", done.stdout.strip().replace("\n", ", "))


def main():
    if not torch.cuda.is_available():
        sys.exit(f"PyTorch {torch.__version__} sees no GPU")
    tell("machine", f"Python {platform.python_version()}, PyTorch {torch.__version__} for CUDA {torch.version.cuda}, {torch.cuda.device_count()} x "
         f"{torch.cuda.get_device_name(0)}", gpus=torch.cuda.device_count(), bytes=torch.cuda.get_device_properties(0).total_memory)
    import tandem

    try:
        tandem.DataParallel
    except ImportError as error:
        tell("import", str(error))
        build_adapter()
    program = ("import torch, tandem; m = torch.nn.Linear(4, 4).cuda(); w = tandem.DataParallel(m, devices='cuda:0x4', deadline=30.0); "
               "w(torch.ones(8, 4, device='cuda')).sum().backward(); torch.cuda.synchronize(); print(m.bias.grad.sum().item())")
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stdout.strip() != "32.0":
        sys.exit(f"a step on cuda:0x4 came to {done.stdout.strip() or 'nothing'} instead of 32.0\n{done.stderr[-3000:]}")
    tell("step", f"tandem {tandem.__version__} takes a step on cuda:0x4")


if __name__ == "__main__":
    main()

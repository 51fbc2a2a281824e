# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Puts PyTorch from PyPI into a folder, without NVIDIA's large libraries: scripts/setup --torch, --oldest-torch and --middle-torch.

Torch's libraries for the host load a dozen of NVIDIA's for GPUs, of three gigabytes. On a machine without a GPU nothing
calls them: they must be there, with the symbols that the loader looks for. Stubs have these, and fail if they are called.

usage: light_torch.py FOLDER VERSION [--check]
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGES = ["filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "numpy", "setuptools", "sympy", "typing-extensions"]

# By the beginning of a library's name: its symbols.
SYMBOLS = {"libcublas.so": "cublas(?!Lt)", "libcublasLt": "cublasLt", "libcudnn": "cudnn", "libcufft": "cufft",
           "libcufile": "cuFile", "libcurand": "curand", "libcusolver": "cusolver", "libcusparse.so": "cusparse(?!Lt)",
           "libcusparseLt": "cusparseLt", "libnccl": "p?nccl", "libnvrtc": "nvrtc", "libnvshmem": "nvshmem|_Z.*nvshmem"}


def readelf(option, library):
    return subprocess.run(["readelf", "-W", option, library], capture_output=True, text=True, check=True).stdout


class Needs:
    """What some libraries ask of others: the libraries' names, symbols, and the versions that they must define."""

    def __init__(self, libraries):
        self.names, self.versions = set(), collections.defaultdict(set)
        undefined, defined = set(), set()
        for library in libraries:
            self.names |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", library)))
            for line in readelf("--dyn-syms", library).splitlines():
                fields = line.split()
                if len(fields) >= 8 and fields[0].endswith(":"):
                    (undefined if fields[6] == "UND" else defined).add(fields[7].split("@")[0])
            owner = None
            for line in readelf("-V", library).splitlines():
                found = re.search(r"File: (\S+)", line)
                owner = found.group(1) if found else owner
                found = re.search(r"Name: (\S+) +Flags", line)
                if found and owner:
                    self.versions[owner].add(found.group(1))
        self.symbols = undefined - defined

    def of(self, name):
        """The symbols that library `name` must have; None if it is no library that a stub may replace."""
        pattern = next((p for beginning, p in SYMBOLS.items() if name.startswith(beginning)), None)
        return None if pattern is None else sorted(s for s in self.symbols if re.match(pattern, s))


def small_ones(metadata):
    """Of NVIDIA's libraries, those that are called without a GPU too, which are small: as PyTorch's metadata asks pip for them."""
    required = [line.split(";")[0].strip() for line in re.findall(r"^Requires-Dist: (.*)", metadata, re.MULTILINE)]
    kits = [re.sub(r"\[.*\]", "[cudart,cupti]", name) for name in required if name.startswith("cuda-toolkit[")]
    return kits or [name for name in required if re.match(r"nvidia-cuda-(runtime|cupti)\b", name)]


def metadata_of(folder, version):
    """What the package of this version says of itself; pip leaves that of an older one beside it."""
    file = next(file for name in (version, f"{version}+*") for file in folder.glob(f"torch-{name}.dist-info/METADATA"))
    return file.read_text(encoding="utf-8")


def write_stub(folder, name, symbols, versions):
    """A library whose functions return 999, which is an error's number in all of NVIDIA's."""
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "stub.c")
        source.write_text("".join(f"int {symbol}(void) {{ return 999; }}\n" for symbol in symbols) or "typedef int none;\n")
        command = ["cc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", folder / name, source]
        if versions:  # the first one takes all symbols
            nodes = [f"{version} {{ {'global: *;' if first else ''} }};\n" for first, version in
                     zip([True] + [False] * len(versions), sorted(versions))]
            script = pathlib.Path(scratch, "versions")
            script.write_text("".join(nodes))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def write_stubs(libraries, folder):
    """Stubs in `folder` for what `libraries` need and it lacks. Returns their names."""
    needs = Needs(libraries)
    made = [name for name in sorted(needs.names) if needs.of(name) is not None and not (folder / name).exists()]
    for name in made:
        write_stub(folder, name, needs.of(name), needs.versions[name])
    return made


def imported_version(folder):
    """The version that Python imports from `folder`; why it does not, in parentheses."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import torch; print(torch.__version__.split('+')[0])"
    done = subprocess.run([sys.executable, "-B", "-c", program, folder], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"({(done.stderr.strip().splitlines() or ['no text'])[-1]})"


def main(arguments):
    folder, expected, check = pathlib.Path(arguments[0]), arguments[1], arguments[2:] == ["--check"]
    is_there = (folder / "torch" / "version.py").exists() and imported_version(folder) == expected
    if is_there:
        print(f"setup: PyTorch {expected} is installed in {folder}")
        return 0
    if check:
        print(f"setup: missing: PyTorch {expected}")
        return 1
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", folder]
    subprocess.run([*pip, "--no-deps", f"torch=={expected}", *PACKAGES], check=True)
    subprocess.run([*pip, *small_ones(metadata_of(folder, expected))], check=True)
    nvidia = min(folder.glob("nvidia/cu*/lib"))  # one of those where torch's libraries look
    write_stubs(sorted((folder / "torch" / "lib").glob("*.so*")), nvidia)
    version = imported_version(folder)
    if version != expected:
        print(f"setup: PyTorch was installed in {folder}, but its import fails: {version}", file=sys.stderr)
        return 1
    print(f"setup: installed PyTorch {expected} in {folder}, without NVIDIA's large libraries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

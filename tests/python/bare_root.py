# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A root folder that has Python and nothing else: what runs in it needs no package of this system."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

# The rest of the C library, and the C++ run-time: every system has them that wheels of manylinux are for.
GIVEN = ["libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libstdc++.so.6", "libgcc_s.so.1"]
BESIDES = shutil.ignore_patterns("site-packages", "test", "idlelib", "config-*", "__pycache__")


class BareRoot:
    """Python of this process in `folder`, at the place that it has outside."""

    def __init__(self, folder):
        self.folder = folder
        self._prefix = pathlib.Path(sys.base_prefix)
        self._library = pathlib.Path(shutil.__file__).parent
        shutil.copytree(self._library, self._inside(self._library), ignore=BESIDES, symlinks=True)
        self._python = pathlib.Path(sys._base_executable).resolve()
        self._copy(self._python)
        for binary in [self._python, *self._library.glob("lib-dynload/*.so")]:
            for library in _libraries_of(binary):
                self._copy(library)
        listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        for name in GIVEN:
            self._copy(pathlib.Path(re.search(rf"{re.escape(name)} \(libc6,x86-64.*=> (.*)", listing).group(1)))
        for place in ("proc", "tmp", "dev"):
            (folder / place).mkdir(exist_ok=True)
        for number, name in ((3, "null"), (9, "urandom")):
            os.mknod(folder / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, number))

    def install(self, wheel, pip):
        """`pip` is a command that runs the pip of this system."""
        subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", "--target", self._inside(self._library) / "site-packages", wheel], check=True)

    def bring(self, packages, at):
        """The packages of a folder, by links, as if pip had put them there."""
        shutil.copytree(packages, self._inside(pathlib.Path(at)), symlinks=True, copy_function=_link)

    def python(self, *arguments, path=""):
        """What Python prints."""
        command = ["unshare", "--mount", "--pid", "--fork", f"--root={self.folder}", "--mount-proc", self._python, "-B", *arguments]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300,
                              env={"HOME": "/tmp", "USER": "somebody", "OMP_NUM_THREADS": "1", "PYTHONPATH": path})
        if done.returncode != 0:
            raise AssertionError(f"in the bare root, {' '.join(map(str, arguments))} ended with {done.returncode}:\n"
                                 f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def _inside(self, path):
        return self.folder / path.relative_to("/")

    def _copy(self, path):
        place = self._inside(path)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def can_be_entered():
    """Whether this process may change its root."""
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode == 0


def _libraries_of(binary):
    listing = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [pathlib.Path(found) for found in re.findall(r"(/\S+)", listing) if found != f"{binary}:"]


def _link(source, place):
    try:
        pathlib.Path(place).hardlink_to(source)
    except OSError:  # another file system
        shutil.copy2(source, place)

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A root folder with Debian's smallest system, in which commands run as they would in a container."""

import os
import pathlib
import shlex
import shutil
import subprocess

CACHE = "/var/cache/ccache"  # in the root
KEPT = ("CMAKE_BUILD_PARALLEL_LEVEL", "http_proxy", "LANG", "LC_ALL")  # ccache has objects for each language
# Its mounts are seen by the command alone, and end with it.
ENTER = """mount -t proc proc "$1/proc"
if [ -n "$2" ]; then mkdir -p "$1$3"; mount --bind "$2" "$1$3"; fi
exec chroot "$1" sh -c "$4"
"""


class CleanRoot:
    """What debootstrap leaves in `folder`, and what was done to it since."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @classmethod
    def of_debian(cls, folder, suite):
        done = subprocess.run(["debootstrap", "--variant=minbase", suite, folder], capture_output=True, text=True, timeout=900, check=False)
        if done.returncode != 0:
            raise AssertionError(f"debootstrap {suite} failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        return cls(folder)

    def copy(self, folder):
        subprocess.run(["cp", "-a", self.folder, folder], timeout=600, check=True)
        return CleanRoot(folder)

    def inside(self, path):
        """Where an absolute path of the root is outside of it."""
        return self.folder / str(path).lstrip("/")

    def run(self, command, at="/", deadline=300):
        """What a command of the shell prints, which must succeed. The compiler's cache is that of this system, if it has one."""
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh", self.folder,
                 _of_ccache("cache_dir"), CACHE, f"cd {shlex.quote(str(at))} && {command}"]
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "DEBIAN_FRONTEND": "noninteractive", "CCACHE_DIR": CACHE, "CCACHE_BASEDIR": at}
        environment |= {name: os.environ[name] for name in KEPT if name in os.environ}
        if size := _of_ccache("max_size"):  # else its cache would shrink
            environment["CCACHE_MAXSIZE"] = size
        done = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True, timeout=deadline, check=False)
        if done.returncode != 0:
            raise AssertionError(f"in the clean root, {command} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout


def missing():
    """Why this system cannot make such a root; empty if it can."""
    if not shutil.which("debootstrap"):
        return "debootstrap is missing (scripts/setup --clean-root)"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode != 0:
        return "this user may not change the root folder"
    return ""


def _of_ccache(setting):
    """What this system's ccache says of a setting; empty if there is none."""
    if not shutil.which("ccache"):
        return ""
    told = subprocess.run(["ccache", "--get-config", setting], capture_output=True, text=True, check=True).stdout.strip()
    return told if setting != "cache_dir" or pathlib.Path(told).is_dir() else ""

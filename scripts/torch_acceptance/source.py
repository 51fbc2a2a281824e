# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's source: fetched by apt from Debian, without root and without a change of the machine's lists."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

SUITE = "bookworm"  # its package is of the version that the manifest is about
KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Hooks of the machine's own lists would be run for these; they need root.
CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Sandbox::User "root";
Acquire::Retries "1";
Acquire::http::Timeout "30";
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "{folder}/lists";
Dir::Cache "{folder}/cache";
"""


class Unavailable(Exception):
    """The source cannot be fetched here; the text says why."""


class Unusable(Exception):
    """The source is not what is expected; the text says why."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tandem" / "pytorch-source"


def last_lines(text):
    lines = [line for line in text.splitlines() if line.startswith(("E:", "W:", "Err:"))] or text.splitlines()
    return "\n".join(lines[-3:])


def call(arguments, timeout, **options):
    try:
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                              stdin=subprocess.DEVNULL, timeout=timeout, check=False, **options)
    except subprocess.TimeoutExpired as e:
        raise Unavailable(f"{' '.join(arguments[:1] + arguments[3:])}: not finished after {timeout} s") from e
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(arguments[:1] + arguments[3:])} failed:\n{last_lines(done.stdout)}")
    return done.stdout


def machines_mirror(apt, timeout):
    """Where this machine's own packages of Debian come from."""
    listed = call([apt, "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"], timeout)
    targets = [line.split() for line in listed.splitlines() if line.endswith(" main")]
    for uri, release, _ in sorted(targets, key=lambda target: target[1] != SUITE):
        if release.isalpha():  # not one of updates or security
            return uri
    raise Unavailable("this machine's lists of packages name no mirror of Debian; give one by --mirror")


def fetch(folder, mirror, timeout):
    """Downloads the tarball of PyTorch's source (18 MB, after a list of 10 MB) into `folder`; its path.

    mirror: None is the machine's own.
    """
    apt = shutil.which("apt-get")
    if apt is None:
        raise Unavailable("there is no apt-get; --source takes a tarball of PyTorch's source")
    if not KEYRING.exists():
        raise Unavailable(f"there is no {KEYRING}, which checks what is fetched; --source takes a tarball of PyTorch's source")
    mirror = mirror or machines_mirror(apt, timeout)
    with tempfile.TemporaryDirectory(prefix="tandem-apt-") as private:
        for name in ("lists/partial", "cache/archives/partial"):
            pathlib.Path(private, name).mkdir(parents=True)
        pathlib.Path(private, "sources.list").write_text(f"deb-src [signed-by={KEYRING}] {mirror} {SUITE} main\n")
        configuration = pathlib.Path(private, "apt.conf")
        configuration.write_text(CONFIGURATION.format(folder=private))
        start = [apt, "-c", str(configuration), "-q", "-y"]
        call([*start, "update", "--error-on=any"], timeout)
        call([*start, "source", "--tar-only", "pytorch"], timeout, cwd=folder)
    found = sorted(pathlib.Path(folder).glob("pytorch_*.orig.tar.*"))
    if not found:
        raise Unavailable("apt-get source has left no tarball")
    return found[0]


def extract(tarball, version, files, target):
    """Writes `files` of the tarball below `target`, and nothing else of it."""
    wanted = {f"pytorch-{version}/{file}": file for file in files}
    try:
        with tarfile.open(tarball) as archive:
            for member in archive:
                file = wanted.pop(member.name.removeprefix("./"), None)
                if file is None or not member.isfile():
                    continue
                path = target / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.extractfile(member).read())
                if not wanted:
                    return
    except (OSError, tarfile.TarError, EOFError) as e:
        raise Unusable(f"{tarball}: cannot be read as a tarball ({e})") from e
    raise Unusable(f"{tarball} has no {', '.join(wanted)}; the manifest is about PyTorch {version}")


def provide(version, files, cache, mirror, tarball, timeout):
    """The folder that has the files, which is kept: the next call fetches nothing."""
    kept = cache / f"pytorch-{version}"
    if tarball is None and all((kept / file).exists() for file in files):
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        fresh = pathlib.Path(scratch, "fresh")
        extract(tarball or fetch(scratch, mirror, timeout), version, files, fresh)
        shutil.rmtree(kept, ignore_errors=True)
        fresh.rename(kept)
    return kept

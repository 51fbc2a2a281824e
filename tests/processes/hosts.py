# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts with one link each to a switch, for processes of one machine: network namespaces. Root alone can make them."""

import itertools
import os
import subprocess

_numbers = itertools.count()


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """`with Hosts(3) as hosts:` has hosts 0 to 2. Raises OSError or CalledProcessError where they cannot be made."""

    def __init__(self, count):
        self._count = count
        self._switch = f"td{os.getpid()}n{next(_numbers)}"
        try:
            _ip("link", "add", self._switch, "type", "bridge")
            _ip("link", "set", self._switch, "up")
            for i in range(self._count):
                _ip("netns", "add", self._name(i))
                _ip("link", "add", self._name(i), "type", "veth", "peer", "name", "eth0", "netns", self._name(i))
                _ip("link", "set", self._name(i), "master", self._switch, "up")
                _ip("-n", self._name(i), "address", "add", f"{self.address(i)}/24", "dev", "eth0")
                for link in ("lo", "eth0"):
                    _ip("-n", self._name(i), "link", "set", link, "up")
        except (OSError, subprocess.CalledProcessError):
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for i in range(self._count):
            subprocess.run(["ip", "netns", "del", self._name(i)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self._switch], check=False, capture_output=True)

    def _name(self, i):
        return f"{self._switch}h{i}"

    @staticmethod
    def address(i):
        return f"10.77.123.{i + 1}"

    def command_on(self, i, command):
        return ["ip", "netns", "exec", self._name(i), *command]

    def cut(self, i):
        """Host i keeps its address, but nothing arrives any more."""
        _ip("link", "set", self._name(i), "down")

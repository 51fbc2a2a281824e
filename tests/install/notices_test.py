# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""THIRD_PARTY_NOTICES.md names each library that was linked: notices_test.py NOTICES READELF FILE..."""

import re
import subprocess
import sys
import unittest

NOTICES, READELF, *FILES = sys.argv[1:]
SYSTEM = {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64", "libpthread", "libdl", "librt"}  # what every program has


def needed(path):
    """The names of the libraries that a file loads, without versions."""
    text = subprocess.run([READELF, "-d", path], capture_output=True, text=True, timeout=60, check=True).stdout
    return {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text)}


class NoticesTest(unittest.TestCase):
    def test_each_library_that_is_linked_has_a_line(self):
        with open(NOTICES, encoding="utf-8") as page:
            named = set(re.findall(r"`(lib[\w+-]+)`", page.read()))
        found = set().union(*(needed(path) for path in FILES))
        ours = {name for name in found if name.startswith("libtandem")}
        self.assertGreater(len(found), 5)
        self.assertEqual(found - SYSTEM - ours - named, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

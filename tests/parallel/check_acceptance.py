# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that each test that docs/acceptance.md names exists: check_acceptance.py ROOT"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
tests = set()
for path in (root / "tests").rglob("*_test.cpp"):
    text = path.read_text(encoding="utf-8")
    tests.update(re.findall(r"^(?:TEST|TEST_[FP]|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)", text, re.M))

named, missing = 0, []
suite = ""
page = (root / "docs/acceptance.md").read_text(encoding="utf-8")
for match in re.finditer(r"(?:\b([A-Z]\w+)|(?<!\w))\.([A-Z]\w+)", page):
    suite = match.group(1) or suite  # ".AllGather" is of the suite before
    named += 1
    if (suite, match.group(2)) not in tests and match.group(0) != "X.Y":
        missing.append(f"{suite}.{match.group(2)}")
print(f"{named} tests are named, {len(missing)} are missing")
for name in missing:
    print(name)
sys.exit(1 if missing or named < 50 else 0)

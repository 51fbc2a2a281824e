# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The store speaks with PyTorch's TCPStore, both ways. pytorch_store_test.py PROGRAM: the built store_program.cpp."""

import datetime
import subprocess
import sys
import threading
import unittest

from torch.distributed import DistStoreError, TCPStore

SECONDS = 20


class Program:
    """The program, which is asked line by line."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        print(*(word or "-" for word in map(str, words)), file=self.process.stdin, flush=True)
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()


def pytorch_store(port, is_server):
    return TCPStore("127.0.0.1", port, None, is_server, datetime.timedelta(seconds=SECONDS), wait_for_workers=False)


class PyTorchStoreTest(unittest.TestCase):
    def exchange(self, theirs, ours):
        """All operations of one, seen by the other."""
        theirs.set("a", "1")
        self.assertEqual(ours.ask("get", "a"), "1")
        ours.ask("set", "b", "two")
        self.assertEqual(theirs.get("b"), b"two")
        self.assertEqual(theirs.add("n", 5), 5)
        self.assertEqual(ours.ask("add", "n", -7), "-2")
        self.assertEqual(theirs.add("n", 0), -2)
        self.assertEqual(ours.ask("compare_set", "first", "", "ours"), "ours")
        self.assertEqual(theirs.compare_set("first", "", "theirs"), b"ours")
        self.assertEqual(theirs.compare_set("first", "ours", "theirs"), b"theirs")
        self.assertEqual(ours.ask("compare_set", "none", "x", "y"), theirs.compare_set("none", "x", "y").decode())
        self.assertEqual(ours.ask("check", "first"), "yes")
        self.assertFalse(theirs.check(["first", "none"]))
        theirs.append("log", "one,")
        self.assertEqual(ours.ask("check", "log"), "yes")
        ours.ask("append", "log", "two")
        self.assertEqual(ours.ask("get", "log"), "one,two")
        self.assertEqual(theirs.get("log"), b"one,two")
        self.assertEqual(ours.ask("num_keys"), str(theirs.num_keys()))
        self.assertEqual(ours.ask("delete_key", "log"), "yes")
        self.assertFalse(theirs.delete_key("log"))
        theirs.multi_set(["x", "y"], ["3", "4"])
        self.assertEqual(theirs.multi_get(["x", "y"]), [b"3", b"4"])
        self.assertEqual(ours.ask("get", "y"), "4")

    def wait(self, theirs, ours):
        """Each waits for what the other sets later, or in vain."""
        later = threading.Timer(0.1, lambda: theirs.set("late", "now"))
        later.start()
        self.assertEqual(ours.ask("get", "late"), "now")
        later.join()
        self.assertIn("nobody has set 'never'", ours.ask("wait", "never", 50))
        with self.assertRaises(DistStoreError):
            theirs.wait(["never"], datetime.timedelta(milliseconds=50))
        ours.ask("set", "never", "here")
        self.assertEqual(theirs.get("never"), b"here")

    def test_our_client_of_their_server(self):
        theirs = pytorch_store(0, True)
        with Program("client", f"127.0.0.1:{theirs.port}") as ours:
            self.exchange(theirs, ours)
            self.wait(theirs, ours)

    def test_their_client_of_our_server(self):
        with Program("serve") as server:
            address = server.process.stdout.readline().strip()
            theirs = pytorch_store(int(address.rpartition(":")[2]), False)
            with Program("client", address) as ours:
                self.exchange(theirs, ours)
                self.wait(theirs, ours)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()

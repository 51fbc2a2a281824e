# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""What the program shows on a terminal: a pseudo terminal is its stderr."""

import os
import pty
import subprocess

from program import DEADLINE, DIGITS, ProgramTest, environment, main, path


def terminal_text(*arguments, stream="stderr", **extra):
    """Exit code and all that the program writes to a terminal on stderr, or on stdout."""
    master, slave = pty.openpty()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: slave}
    with subprocess.Popen([path(), *arguments], env=environment(**extra), **streams) as run:
        os.close(slave)
        text = b""
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError:  # the program has closed its end
            pass
        os.close(master)
        return run.wait(timeout=DEADLINE), text.decode()


class TerminalTest(ProgramTest):
    run_of_one_epoch = ["train", *DIGITS, "--devices", "cpu:2", "--epochs", "1"]

    def test_a_bar_rewrites_its_line(self):
        code, text = terminal_text(*self.run_of_one_epoch)
        self.assertEqual(code, 0)
        self.assertRegex(text, r"\r\x1b\[K\[=* *\] epoch 1/1 +\d+/23 \d+ rows/s loss \d\.\d+ ETA \d+:\d\d")
        self.assertIn("[" + "=" * 24 + "] epoch 1/1   23/23", text)
        self.assertTrue(text.endswith(" s\r\n"), text[-80:])

    def test_no_color_gives_plain_lines(self):
        code, text = terminal_text(*self.run_of_one_epoch, NO_COLOR="1")
        self.assertEqual(code, 0)
        self.assertNotIn("\x1b", text)
        self.assertRegex(text, r"(?m)^epoch 1/1   23/23 ")

    def test_quiet_shows_nothing(self):
        self.assertEqual(terminal_text(*self.run_of_one_epoch, "--quiet"), (0, ""))

    def test_an_error_stands_on_a_line_of_its_own(self):
        code, text = terminal_text(*self.run_of_one_epoch, "--optimizer", "sgd", "--lr", "1e30")
        self.assertEqual(code, 1)
        self.assertIn("\r\ntandem: step ", text)

    def test_a_text_of_others_cannot_steer_a_terminal(self):
        with open(self.file("text"), "w", encoding="utf-8") as text:
            text.write("\x1b[2J\x07\tok\n\x9b" * 200)
        checkpoint = self.file("run.st")
        self.succeed("train", "--data", "text", "--text", "text", "--layers", "1", "--width", "8", "--heads", "1",
                     "--context", "8", "--steps", "1", "--checkpoint", checkpoint, "--quiet")
        say = ["generate", "--checkpoint", checkpoint, "--prompt", "\x1b[2J\x07\tok\n\x9b", "--tokens", "40"]
        code, shown = terminal_text(*say, stream="stdout")
        self.assertEqual(code, 0)
        for control in "\x1b\x07\x9b":
            self.assertNotIn(control, shown)
        self.assertIn("\\x1b[2J\\x07\tok\r\n\\u009b", shown)
        self.assertIn("\x1b[2J\x07\tok\n\x9b", self.succeed(*say).stdout)

    def test_elsewhere_there_are_plain_lines(self):
        done = self.succeed(*self.run_of_one_epoch)
        self.assertNotIn("\x1b", done.stderr)
        self.assertNotIn("\r", done.stderr)


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The files that `tandem train` writes its numbers to while it runs."""

import csv
import json
import os
import shutil
import struct
import threading

from program import DIGITS, ProgramTest, main

RUN = [*DIGITS, "--devices", "cpu:2", "--epochs", "1", "--quiet"]  # 23 steps


def crc32c(data):
    """Bit by bit, as RFC 3720 defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def records(data):
    """The data of TFRecords, whose checksums are right."""
    while data:
        length, = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        body = data[12:12 + length]
        assert struct.unpack("<I", data[12 + length:16 + length])[0] == masked(body)
        yield body
        data = data[16 + length:]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """A protocol buffer's fields, by number."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            found[key >> 3], at = varint(data, at)
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = varint(data, at)
        found[key >> 3] = data[at:at + size]
        at += size
    return found


def scalars(path):
    """(tag, step): value of a file of events."""
    with open(path, "rb") as file:
        events = [fields(record) for record in records(file.read())]
    assert events[0][3] == b"brain.Event:2"
    values = {}
    for event in events[1:]:
        value = fields(fields(event[5])[1])
        values[value[1].decode(), event[2]] = struct.unpack("<f", value[2])[0]
    return values


class MetricsTest(ProgramTest):
    def test_all_forms_have_the_same_numbers(self):
        table, board, report = self.file("run.csv"), self.file("board"), self.file("run.json")
        self.succeed("train", *RUN, "--metrics", table, "--tensorboard", board, "--json", report)
        with open(table, encoding="utf-8") as file:
            rows = {(r["tag"], int(r["step"])): float(r["value"]) for r in csv.DictReader(file)}
        self.assertEqual(sum(tag == "train/loss" for tag, _ in rows), 23)
        self.assertEqual(sum(tag == "train/step_ms" for tag, _ in rows), 23)
        with open(report, encoding="utf-8") as file:
            accuracy = json.load(file)["epochs"][-1]["test_accuracy"]
        self.assertEqual(rows["test/accuracy", 23], accuracy)
        self.assertGreater(rows["peak_bytes/cpu:1", 23], 0)
        names = os.listdir(board)
        self.assertEqual([name.split(".")[:3] for name in names], [["events", "out", "tfevents"]])
        events = scalars(os.path.join(board, names[0]))
        self.assertEqual(events.keys(), rows.keys())
        for key, value in rows.items():
            self.assertAlmostEqual(events[key] / value, 1, places=6)

    def test_a_resumed_run_goes_on_in_its_file(self):
        lines, checkpoint = self.file("run.jsonl"), self.file("run.safetensors")
        first = [*DIGITS, "--devices", "cpu:2", "--epochs", "2", "--quiet", "--checkpoint", checkpoint, "--metrics", lines]
        self.succeed("train", *first, "--steps", "5")
        self.succeed("train", *first, "--steps", "9", "--resume")
        with open(lines, encoding="utf-8") as file:
            steps = [line["step"] for line in map(json.loads, file) if line["tag"] == "train/loss"]
        self.assertEqual(steps, list(range(1, 10)))
        self.succeed("train", *first, "--steps", "2")
        with open(lines, encoding="utf-8") as file:
            self.assertEqual(sum('"train/loss"' in line for line in file), 2)

    def test_steps_that_a_kill_undid_are_not_there_twice(self):
        for name in ("run.csv", "run.jsonl"):
            with self.subTest(name):
                checkpoint, kept = self.file(name + ".st"), self.file(name + ".kept")
                run = [*DIGITS, "--devices", "cpu:2", "--epochs", "2", "--quiet", "--checkpoint", checkpoint]
                metrics = ["--metrics", self.file(name)]
                self.succeed("train", *run, *metrics, "--steps", "24")
                shutil.copy(checkpoint, kept)
                self.succeed("train", *run, *metrics, "--steps", "30", "--resume")
                shutil.copy(kept, checkpoint)  # as if the run had been killed in step 31, with half a line
                with open(self.file(name), "a", encoding="utf-8") as file:
                    file.write('31,1' if name.endswith("csv") else '{"sec')
                self.succeed("train", *run, *metrics, "--steps", "26", "--resume")
                with open(self.file(name), encoding="utf-8") as file:
                    rows = list(csv.DictReader(file) if name.endswith("csv") else map(json.loads, file))
                for tag in ("train/loss", "train/step_ms"):
                    self.assertEqual([int(r["step"]) for r in rows if r["tag"] == tag], list(range(1, 27)))
                self.assertEqual([int(r["step"]) for r in rows if r["tag"] == "test/accuracy"], [23])

    def test_metrics_that_nobody_takes_any_more_are_told_once_and_end_no_run(self):
        os.mkfifo(self.file("pipe"))
        checkpoint = self.file("run.st")

        def read_a_little():
            with open(self.file("pipe"), encoding="utf-8") as pipe:
                pipe.readline()

        reader = threading.Thread(target=read_a_little, daemon=True)
        reader.start()
        done = self.run_program("train", *RUN, "--metrics", self.file("pipe"), "--checkpoint", checkpoint,
                                "--tensorboard", "board")
        reader.join(60)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("tandem: "), 1, done.stderr)
        self.assertRegex(done.stderr, "pipe: cannot be written any more: Broken pipe; the run continues without this file")
        self.assertIn("epoch 1: ", done.stdout)
        board, = os.listdir(self.file("board"))
        self.assertIn(("train/loss", 23), scalars(os.path.join(self.directory, "board", board)))
        self.assertIn("at step 23", self.succeed("train", *DIGITS, "--devices", "cpu:2", "--epochs", "2", "--steps", "24",
                                                 "--checkpoint", checkpoint, "--resume").stderr)

    def test_what_cannot_be_written_is_said_before_the_run(self):
        self.fail_with(2, "train", *RUN, "--metrics", "run.txt", says=["--metrics", "FILE.csv or FILE.jsonl", "'run.txt'"])
        self.fail_with(1, "train", *RUN, "--metrics", "/no/such/place/run.csv", says=["/no/such/place"])
        self.fail_with(1, "train", *RUN, "--tensorboard", "/proc/no", says=["/proc/no"])


if __name__ == "__main__":
    main()

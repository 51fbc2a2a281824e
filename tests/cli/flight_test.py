# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem flight says what the flight records of a run's processes have in common, from records written by hand."""

import json
import os

from program import ProgramTest, main


def operation(number, start_us, state="completed", **changes):
    done = state == "completed"
    return {"number": number, "generation": 0, "kind": "all_reduce", "dtype": "f32", "count": 12, "common_count": 12, "op": "sum",
            "root": -1, "algorithm": "direct", "tag": 0, "collectives": 1, "state": state, "start_us": start_us,
            "met_us": start_us + 500 if done else None, "end_us": start_us + 900 if done else None, **changes}


def record(process, operations, failure=None, run="node1-11-99", wall_us=1_700_000_000_000_000, offset_us=0):
    """The record of a process of two, with a rank each, whose clock is `offset_us` behind process 0's."""
    return {"format": "tandem flight record", "version": 1, "run": run, "process": process,
            "processes": [{"host": "node1", "pid": 11}, {"host": "node2", "pid": 12}],
            "clock": {"origin_us": 10_000_000 - offset_us, "steady_us": 10_100_000 - offset_us, "wall_us": wall_us,
                      "offset_us": offset_us, "error_us": 20},
            "group": "gloo-1", "members": [{"device": "cpu:0", "process": 0}, {"device": "cpu:0", "process": 1}],
            "failure": failure, "ranks": [{"rank": process, "device": "cpu:0", "operations": operations}]}


class FlightTest(ProgramTest):
    def write(self, name, content):
        os.makedirs(self.file("records"), exist_ok=True)
        with open(self.file(os.path.join("records", name)), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))

    def write_a_run(self):
        """Rank 1 comes 1.5 ms late to the first collective, and never to the second; its clock is five seconds behind."""
        self.write("0.json", record(0, [operation(1, 1000), operation(2, 4000, "failed")], "rank 1 did not arrive"))
        self.write("1.json", record(1, [operation(1, 2500)], offset_us=5_000_000))

    def test_text_says_who_is_missing_and_who_came_when(self):
        self.write_a_run()
        done = self.succeed("flight", "records")
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "run node1-11-99 of 2023-11-14 22:13:20 UTC: 2 processes, 2 records")
        self.assertIn("group gloo-1, ranks 0 to 1:", lines)
        self.assertIn("  ranks are missing first in all_reduce number 2, to which rank 0 (cpu:0 of process 0 on node1, pid 11) came "
                      "first, at 3.000 ms", lines)
        self.assertIn("    not there: rank 1 (cpu:0 of process 1 on node2, pid 12)", lines)
        self.assertIn("  at 99.000 ms process 0 on node1, pid 11 said: rank 1 did not arrive", lines)
        rows = [line.split() for line in lines if "all_reduce  " in line]
        self.assertEqual(rows, [["1", "all_reduce", "f32", "12", "sum", "completed", "0", "+0.000,", "1", "+1.500"],
                                ["2", "all_reduce", "f32", "12", "sum", "failed", "0", "+0.000;", "not", "there:", "1"]])

    def test_a_process_without_a_record_is_named(self):
        self.write("0.json", record(0, [operation(1, 1000), operation(2, 4000, "failed")], "it has gone"))
        text = self.succeed("flight", "records").stdout
        self.assertIn("process 1 on node2, pid 12 wrote no record", text)
        self.assertIn("    not known: rank 1 (cpu:0 of process 1 on node2, pid 12)\n", text)

    def test_the_first_difference_is_told_with_both_values(self):
        self.write("0.json", record(0, [operation(1, 1000, "failed")]))
        self.write("1.json", record(1, [operation(1, 1000, "failed", kind="broadcast", root=1)]))
        self.assertIn("  ranks differ first in all_reduce number 1: operation: rank 0 (cpu:0 of process 0 on node1, pid 11) has "
                      "all_reduce, rank 1 (cpu:0 of process 1 on node2, pid 12) has broadcast\n",
                      self.succeed("flight", "records").stdout)

    def test_messages_and_unknown_clocks(self):
        self.write_a_run()
        lost = record(1, [operation(0, 3000, "started", kind="recv", tag=7)], "stopped")
        lost["clock"] |= {"offset_us": None, "error_us": None}
        self.write("1.json", lost)
        text = self.succeed("flight", "records").stdout
        self.assertRegex(text, r"a message has not arrived: rank 1 \(.*\) in recv from any rank with tag 7 since \d+\.\d+ ms")
        self.assertIn("process 1 on node2, pid 12 did not compare its clock", text)

    def test_nothing_wrong(self):
        for process in (0, 1):
            self.write(f"{process}.json", record(process, [operation(1, 1000)]))
        self.assertIn("group gloo-1, ranks 0 to 1: 1 collective, nothing wrong\n", self.succeed("flight", "records").stdout)

    def test_the_latest_run_is_shown_and_the_others_are_told(self):
        self.write_a_run()
        self.write("2.json", record(0, [operation(1, 1000)], run="node1-99-1", wall_us=1_700_000_060_000_000))
        text = self.succeed("flight", "records").stdout
        self.assertTrue(text.startswith("run node1-99-1 of 2023-11-14 22:14:20 UTC"), text)
        self.assertIn("The folder has records of another run, the last of 2023-11-14 22:13:20 UTC", text)
        runs = json.loads(self.succeed("flight", "records", "--json").stdout)["runs"]
        self.assertEqual([run["run"] for run in runs], ["node1-99-1", "node1-11-99"])

    def test_json(self):
        self.write_a_run()
        (run,) = json.loads(self.succeed("flight", "records", "--json").stdout)["runs"]
        self.assertEqual([(p["host"], len(p["records"])) for p in run["processes"]], [("node1", 1), ("node2", 1)])
        (group,) = run["groups"]
        self.assertEqual((group["first_difference"], group["first_missing"]), (None, 1))
        first, second = group["collectives"]
        self.assertEqual([(a["rank"], a["after_first_us"]) for a in first["arrivals"]], [(0, 0), (1, 1500)])
        self.assertEqual([(a["came_us"], a["after_first_us"]) for a in second["arrivals"]], [(3000, 0)])
        self.assertEqual((first["complete"], second["complete"], second["missing"]), (True, False, [1]))
        self.assertEqual(group["failures"], [{"process": 0, "at_us": 99_000, "text": "rank 1 did not arrive"}])

    def test_json_has_everything(self):
        self.write("0.json", record(0, [operation(1, 1000, op="max", dtype="i64"), operation(2, 4000, "failed"),
                                        operation(0, 5000, "started", kind="recv", root=1, tag=7)], "they differ"))
        self.write("1.json", record(1, [operation(1, 2500, op="max", dtype="i64"),
                                        operation(2, 4500, "failed", kind="broadcast", root=1)], offset_us=5_000_000))

        def arrival(rank, came_us, after_first_us, ended=False, **changes):
            return {"rank": rank, "came_us": came_us, "after_first_us": after_first_us, "met_us": came_us + 500 if ended else None,
                    "ended_us": came_us + 900 if ended else None, "state": "completed" if ended else "failed", "operation": "all_reduce",
                    "dtype": "f32", "elements": 12, "count": 12, "reduction": "sum", "root": -1, "algorithm": "direct",
                    "collectives": 1, **changes}

        maximum = {"reduction": "max", "dtype": "i64"}
        collectives = [
            {"generation": 0, "number": 1, "complete": True, "missing": [], "unknown": [], "difference": None,
             "arrivals": [arrival(0, 0, 0, True, **maximum), arrival(1, 1500, 1500, True, **maximum)]},
            {"generation": 0, "number": 2, "complete": False, "missing": [], "unknown": [],
             "difference": {"field": "operation", "rank": 0, "value": "all_reduce", "other_rank": 1, "other_value": "broadcast"},
             "arrivals": [arrival(0, 3000, 0), arrival(1, 3500, 500, operation="broadcast", root=1)]}]
        group = {"group": "gloo-1", "ranks": [{"device": "cpu:0", "process": 0}, {"device": "cpu:0", "process": 1}],
                 "processes_without_record": [], "first_difference": 1, "first_missing": None, "collectives": collectives,
                 "messages": [arrival(0, 4000, 0, state="started", operation="recv", root=1, tag=7)],
                 "failures": [{"process": 0, "at_us": 99_000, "text": "they differ"}]}
        run = {"run": "node1-11-99", "written_us": 1_700_000_000_000_000, "groups": [group],
               "processes": [{"host": "node1", "pid": 11, "records": ["records/0.json"], "clock_error_us": 20},
                             {"host": "node2", "pid": 12, "records": ["records/1.json"], "clock_error_us": 20}]}
        self.maxDiff = None
        self.assertEqual(json.loads(self.succeed("flight", "records", "--json").stdout),
                         {"schema_version": 1, "runs": [run], "warnings": []})

    def test_json_of_a_process_without_a_record(self):
        self.write("0.json", record(0, [operation(1, 1000, "failed", generation=2)], "it has gone"))
        (run,) = json.loads(self.succeed("flight", "records", "--json").stdout)["runs"]
        self.assertEqual([p["records"] for p in run["processes"]], [["records/0.json"], []])
        self.assertIsNone(run["processes"][1]["clock_error_us"])
        (group,) = run["groups"]
        self.assertEqual(group["processes_without_record"], [1])
        (collective,) = group["collectives"]
        self.assertEqual((collective["generation"], collective["missing"], collective["unknown"]), (2, [], [1]))

    def test_trace(self):
        self.write_a_run()
        self.assertIn("group gloo-1", self.succeed("flight", "records", "--trace", "trace.json").stdout)
        with open(self.file("trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertEqual(sorted(names), [(1, 0), (1, 1)])
        self.assertTrue(names[1, 1].startswith("rank 1 (cpu:0 of process 1"))
        spans = [(e["name"], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
        self.assertEqual(spans, [("all_reduce", 0, 0, 900), ("waits", 0, 0, 500), ("all_reduce", 1, 1500, 900), ("waits", 1, 1500, 500),
                                 ("all_reduce", 0, 3000, 96_000), ("waits", 0, 3000, 96_000)])
        only = self.succeed("flight", "records", "--trace", "-").stdout
        self.assertEqual(json.loads(only)["traceEvents"], events)

    def test_a_damaged_file_hides_no_other(self):
        self.write_a_run()
        self.write("cut.json", json.dumps(record(1, []))[:100])
        self.write("other.json", record(1, []) | {"version": 7})
        self.write("escape.json", record(1, []) | {"process": "\x1b[2J"})
        done = self.succeed("flight", "records")
        self.assertIn("not there: rank 1", done.stdout)
        warnings = done.stderr.splitlines()
        self.assertEqual(len(warnings), 3, done.stderr)
        self.assertRegex(warnings[0], r"^tandem: records/cut.json at byte \d+: is cut off")
        self.assertNotIn("\x1b", warnings[1])
        self.assertIn("records/other.json", warnings[2])
        self.assertIn("is of version 7", warnings[2])
        self.assertEqual(len(json.loads(self.succeed("flight", "records", "--json").stdout)["warnings"]), 3)

    def test_control_characters_of_records_are_shown(self):
        wild = record(0, [operation(1, 1000)], "\x1b[2J\x07 it has failed\u009b")
        wild["processes"][0]["host"] = "node\x1b]0;title\x07"
        self.write("0.json", wild)
        text = self.succeed("flight", "records").stdout  # a pipe, as to less
        for control in "\x1b\x07\u009b":
            self.assertNotIn(control, text)
        self.assertIn("\\x1b[2J\\x07 it has failed\\u009b", text)

    def test_errors_say_what_to_do(self):
        self.fail_with(2, "flight", says=["DIR", "flight --help"])
        self.fail_with(1, "flight", "nowhere", says=["nowhere", "TANDEM_COMM_DUMP"])
        self.write("0.txt", "")
        self.fail_with(1, "flight", "records", says=["records", "no flight record", "TANDEM_COMM_DUMP"])
        self.fail_with(1, "flight", "records/0.txt", says=["records/0.txt", "TANDEM_COMM_DUMP"])
        self.write("0.json", "[]")
        self.fail_with(1, "flight", "records", says=["none of its 1 files", "0.json", "format is missing"])
        self.write_a_run()
        self.fail_with(1, "flight", "records", "--trace", "no/x.json", says=["no/x.json"])
        self.fail_with(2, "flight", "records", "--trace", "x", "--json", "x", says=["--json and --trace", "'x'"])

    def test_help(self):
        text = self.succeed("flight", "--help").stdout
        for word in ("DIR", "--json", "--trace", "ui.perfetto.dev"):
            self.assertIn(word, text)


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""tandem's commands, and the commands of docs/processes.md, under a launcher: launchers_test.py LAUNCHER TANDEM EXAMPLE PAGE.

LAUNCHER is tandem, mpirun, srun, torchrun, or hand.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import slurm

DEADLINE = 100  # seconds of a command
SKIPPED = 77
COLLECTIVES = ["collectives", "--devices", "cpu:2", "-b", "4K", "-e", "4K", "--iterations", "3", "--json", "--quiet"]
DIGITS = ["--model", "mlp", "--data", "digits", "--dtype", "f64", "--json", "--quiet"]
EPOCHS = 2
# Lets mpirun run as root, and more processes than cores.
MPI_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(command, environment, folder, status=0):
    """What it prints; both streams if it is to fail."""
    with subprocess.Popen(command, shell=True, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == status, f"{command}: {process.returncode}\n{output}{errors}"
    return output + errors if status else output


def commands_of(page, launcher):
    """The page's commands for a launcher, from the table."""
    with open(page, encoding="utf-8") as file:
        rows = re.findall(r"^\| ([^|]+) \| `([^`]+)` \|", file.read(), re.MULTILINE)
    name = {"tandem": "tandem, one host", "mpirun": "Open MPI", "srun": "Slurm", "hand": "by hand"}.get(launcher, launcher)
    found = [command for of, command in rows if of == name]
    assert found, f"{page} has no command for {name}"
    return found


def only_json(output):
    """What one process has printed, which `tandem launch` prefixes."""
    return json.loads(re.sub(r"^\[0\] ", "", output, flags=re.MULTILINE))


def check_train(start, backend, environment, folder):
    """Two processes of two devices train as one of four does, save one checkpoint, and one process goes on from it."""
    train = ["./tandem", "train", *DIGITS]
    together = [*train, "--devices", "cpu:2", "--backend", backend, "--checkpoint", "run.safetensors"]
    report = only_json(run(" ".join([start, *together, "--epochs", str(EPOCHS)]), environment, folder))
    assert report["processes"] == 2, report
    alone = only_json(run(" ".join([*train, "--devices", "cpu:4", "--epochs", str(EPOCHS + 1)]), environment, folder))
    rest = only_json(run(" ".join([*train, "--devices", "cpu:1", "--epochs", str(EPOCHS + 1), "--checkpoint", "run.safetensors", "--resume"]),
                         environment, folder))
    for one, other in zip([*report["epochs"], *rest["epochs"]], alone["epochs"], strict=True):
        for value in ("loss", "test_loss", "test_accuracy"):
            assert abs(one[value] - other[value]) <= 1e-10 * abs(other[value]), (value, one, other)


def check_compare(start, backend, environment, folder):
    """All modes over two processes of two devices keep the weights of a single device."""
    compare = ["./tandem", "compare", *DIGITS, "--steps", "4", "--devices", "cpu:2"]
    table = only_json(run(" ".join([start, *compare, "--backend", backend]), environment, folder))
    assert table["processes"] == 2, table
    assert len(table["modes"]) > 2 and table["modes"][0]["mode"] == "single", table
    for mode in table["modes"]:
        assert mode["complete"] and mode["max_relative_difference"] <= 1e-12, mode


def check_verify(start, backend, environment, folder):
    """The weights of two processes of two devices are those of one device, and one process says so."""
    verify = ["./tandem", "compare", "--verify", *DIGITS, "--mode", "ddp", "--steps", "4", "--devices", "cpu:2"]
    seen = only_json(run(" ".join([start, *verify, "--backend", backend]), environment, folder))
    assert seen["devices"] == 4 and seen["equal"] and 0 < seen["relative_difference"] <= 1e-12, seen


def check_collectives(start, backend, environment, folder):
    """Two processes of two devices make one table, with the right sums, and only one of them prints it."""
    output = run(" ".join([start, "./tandem", *COLLECTIVES, "--backend", "local" if backend == "gloo" else backend]), environment, folder)
    table = only_json(output)
    assert (table["processes"], table["backend"]) == (2, backend), table
    assert [(row["ranks"], row["wrong"]) for row in table["rows"]] == [(4, 0)], table


def check_commands(start, backend, environment, folder):
    check_collectives(start, backend, environment, folder)
    check_train(start, "local" if backend == "gloo" else backend, environment, folder)
    check_compare(start, "local" if backend == "gloo" else backend, environment, folder)
    check_verify(start, "local" if backend == "gloo" else backend, environment, folder)


def check_page(page, launcher, environment, folder):
    """The page's program trains by the page's command, and one process says how well."""
    for command in commands_of(page, launcher):
        output = run(command, environment, folder)
        accuracies = re.findall(r"epoch 5: loss [0-9.]+, test accuracy ([0-9.]+)", output)
        assert len(accuracies) == 1 and float(accuracies[0]) > 0.85, f"{command}: {output}"


def check_cause(start, environment, folder):
    """torchrun's report of a failed job has the text of the rank whose body threw, and of no other."""
    report = run(f"{start} {os.environ['DYING']} all_reduce throw 1 1 gloo", environment, folder, status=1)
    cause = report[report.index("Root Cause"):]
    assert re.search(r"rank +: 1 ", cause) and re.search(r"traceback : .*the body fails", cause), report


def by_hand(page, environment, folder):
    """The page's line for process 0, and the same for process 1."""
    (line,) = commands_of(page, "hand")
    line = line.replace("node1", "127.0.0.1").replace("29500", str(slurm.free_ports(1)[0]))
    lines = [line, line.replace("RANK=0", "RANK=1")]
    assert lines[0] != lines[1]
    output = run(f"{lines[1]} & {lines[0]}; wait $!", environment, folder)
    assert len(re.findall("epoch 5: ", output)) == 1, output


def main():
    launcher, tandem, example, page = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tandem-launchers-") as folder:
        os.symlink(tandem, os.path.join(folder, "tandem"))
        os.symlink(example, os.path.join(folder, "program"))
        if "TORCHRUN" in os.environ:
            os.symlink(os.environ["TORCHRUN"], os.path.join(folder, "torchrun"))
        environment = {**os.environ, **MPI_MAY, "PATH": f"{folder}:{slurm.PATH}", "OMP_NUM_THREADS": "1"}
        starts = {"tandem": ("tandem launch --nproc 2", "gloo"), "mpirun": ("mpirun -n 2", "mpi"),
                  "torchrun": ("torchrun --no-python --standalone --nproc-per-node 2", "gloo"),
                  "srun": ("srun -n 2 -N 2", "gloo")}
        if launcher == "hand":
            by_hand(page, environment, folder)
        elif launcher == "srun":
            if not slurm.is_here():
                print("srun: Slurm's daemons are not installed, or this user is not root")
                sys.exit(SKIPPED)
            cluster = slurm.Slurm(folder)
            try:
                cluster.start_all()
            except (OSError, TimeoutError, subprocess.SubprocessError) as error:
                print(f"srun: Slurm does not start on this machine: {error}")
                sys.exit(SKIPPED)
            with cluster:
                # No host knows the names of these nodes.
                environment |= {"SLURM_CONF": cluster.environment["SLURM_CONF"], "MASTER_ADDR": "127.0.0.1"}
                check_commands(*starts[launcher], environment, folder)
                check_page(page, launcher, environment, folder)
        else:
            check_commands(*starts[launcher], environment, folder)
            check_page(page, launcher, environment, folder)
            if launcher == "torchrun":
                check_cause(starts[launcher][0], environment, folder)


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""A Slurm of two nodes, n1 and n2, on this machine, for tests: a controller and a daemon for each."""

import os
import platform
import shutil
import socket
import subprocess
import time

CONFIGURATION = """
ClusterName=tandem
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=1000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=1000
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=10 State=UP
"""
PROGRAMS = ["slurmctld", "slurmd", "srun", "sinfo"]
DEADLINE = 60  # seconds until both nodes are idle
# Programs of the system are not in everybody's path.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def is_here():
    """Whether this machine has Slurm, and this user may run its daemons."""
    return os.geteuid() == 0 and all(shutil.which(program, path=PATH) for program in PROGRAMS)


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Slurm:
    """Runs from start_all() on until a `with` statement ends."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": os.path.join(folder, "slurm.conf")}

    def start_all(self):
        for name in ("state", "n1", "n2"):
            os.mkdir(os.path.join(self.folder, name))
        with open(self.environment["SLURM_CONF"], "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=platform.node().split(".")[0], folder=self.folder, ports=free_ports(3)))
        self.start("slurmctld", "-D", "-i")
        for node in ("n1", "n2"):
            self.start("slurmd", "-D", "-N", node)
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def start(self, *command):
        with open(os.path.join(self.folder, f"{command[0]}.{len(self.daemons)}.txt"), "w", encoding="utf-8") as output:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                                 stderr=subprocess.STDOUT))

    def wait(self):
        """Until both nodes take work."""
        end = time.monotonic() + DEADLINE
        states = ""
        while time.monotonic() < end:
            states = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], env=self.environment, capture_output=True, text=True,
                                    timeout=DEADLINE, check=False).stdout
            if states.split() == ["idle", "idle"]:
                return
            time.sleep(0.1)
        raise TimeoutError(f"Slurm's nodes are not idle after {DEADLINE} s: {states!r}; see {self.folder}")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times coppice-exec against the MPI library's own collectives (Open MPI, and MPICH where it is installed).

Loads on a machine change from minute to minute, so each size is measured in rounds that interleave all programs, and
the medians of the rounds are compared. The roofline is the copy bandwidth that coppice-exec measures in the same process
just before.

    tests/executor/compare_openmpi.py build/release [--ranks 4] [--sizes 1K,1M,256M] [--rounds 5] [--backend mpi]

MPICH may lie in a folder of its own, so that it does not take Open MPI's place:

    apt-get download mpich libmpich12 libmpich-dev libslurm38
    for package in *.deb; do dpkg -x $package mpich; done
    tests/executor/compare_openmpi.py build/release --mpich mpich

--baseline times another coppice-exec too, in the same rounds.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile


def bytes_of(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1].upper()] if text[-1].upper() in units else int(text)


def name_of(size):
    for unit, shift in (("G", 30), ("M", 20), ("K", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def iterations_for(size):
    return max(5, min(1000, (1 << 28) // size))


def environment():
    found = dict(os.environ)
    if os.geteuid() == 0:
        found["OMPI_ALLOW_RUN_AS_ROOT"] = found["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return found


def run_program(command, size, variables):
    done = subprocess.run([*map(str, command), str(size), str(iterations_for(size)), "3"], env=variables,
                          capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


class OpenMpi:
    name = "Open MPI"

    def __init__(self, program, ranks):
        self.command = ["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", program]

    def time(self, collective, size):
        return run_program([*self.command, collective], size, environment())


class Mpich:
    """Built here from the same source: a program of one MPI library does not run with the other."""

    name = "MPICH"

    def __init__(self, prefix, source, folder, ranks):
        self.variables = environment()
        program = f"{folder}/mpi_collectives.mpich"
        if prefix is None:
            launcher = "mpiexec.mpich"
            compiler = ["mpicxx.mpich"]
            library = []
        else:
            found = {name: next(pathlib.Path(prefix).resolve().rglob(name), None)
                     for name in ("mpi.h", "libmpich.so.12", "mpiexec.hydra")}
            missing = [name for name, path in found.items() if path is None]
            if missing:
                sys.exit(f"{prefix} holds no {missing[0]}: unpack mpich, libmpich12 and libmpich-dev there")
            launcher = found["mpiexec.hydra"]
            libraries = found["libmpich.so.12"].parent
            compiler = ["c++", f"-I{found['mpi.h'].parent}"]
            library = [found["libmpich.so.12"], "-Wl,--allow-shlib-undefined"]
            self.variables["LD_LIBRARY_PATH"] = f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        subprocess.run([*compiler, "-O2", "-std=c++20", source, "-o", program, *library], check=True)
        self.command = [launcher, "-n", ranks, program]

    def time(self, collective, size):
        return run_program([*self.command, collective], size, self.variables)


class Coppice:
    def __init__(self, name, program, backend, ranks):
        self.name = name
        self.command = [program, "run", "--backend", backend, "--json", "-w", "3", "-c", "0"]
        if backend == "mpi":
            self.command += ["--launch", "mpirun", "--ranks", ranks]

    def time(self, schedule, size):
        """Seconds out of place and in place, and the share of the roofline out of place."""
        command = [*self.command, schedule, "-b", size, "-e", size, "-n", iterations_for(size)]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env=environment())
        records = [record for record in map(json.loads, done.stdout.splitlines()) if record["t"] == "result"]
        found = {record["in_place"]: record for record in records}
        return (found[False]["time_us"] / 1e6, found[True]["time_us"] / 1e6, found[False].get("roofline_percent") or 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--sizes", default="1K,4K,16K,64K,256K,1M,4M,16M,64M,256M")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--collectives", default="allgather,allreduce,reduce_scatter,broadcast")
    parser.add_argument("--fabric", default="preset:complete,gpus={ranks}")
    parser.add_argument("--mpich", metavar="FOLDER", help="where MPICH's packages are unpacked")
    parser.add_argument("--baseline", metavar="COPPICE-EXEC", help="another coppice-exec to compare with")
    options = parser.parse_args()
    build = pathlib.Path(options.build)
    mpi_program = next((str(path) for path in build.rglob("mpi_collectives") if path.is_file()), None)
    if mpi_program is None:
        sys.exit(
            "mpi_collectives is not built: cmake --build build/release --target mpi_collectives\n"
            "without that target, MPI was not found when the build was configured"
        )
    with tempfile.TemporaryDirectory() as folder:
        libraries = [OpenMpi(mpi_program, options.ranks)]
        if options.mpich or (shutil.which("mpicxx.mpich") and shutil.which("mpiexec.mpich")):
            source = pathlib.Path(__file__).with_name("mpi_collectives.cpp")
            libraries.append(Mpich(options.mpich, source, folder, options.ranks))
        ours = [Coppice("Coppice", build / "bin/coppice-exec", options.backend, options.ranks)]
        if options.baseline:
            ours.append(Coppice("baseline", options.baseline, options.backend, options.ranks))
        print(f"{options.ranks} ranks, medians of {options.rounds} rounds, microseconds; ratios are Open MPI / Coppice")
        head = f"{'collective':14} {'size':>5}" + "".join(f" {library.name:>10}" for library in libraries)
        for program in ours:
            head += f" {program.name:>10}   ratio   in place   ratio"
        print(head + "  roofline %")
        for collective in options.collectives.split(","):
            schedule = f"{folder}/{collective}.forest.json"
            fabric = options.fabric.format(ranks=options.ranks)
            root = ["--root", "0"] if collective in ("broadcast", "reduce") else []
            subprocess.run([build / "bin/coppice-cli", "generate", fabric, "-c", collective, *root, "-o", schedule],
                           check=True, stdout=subprocess.DEVNULL)
            for size in map(bytes_of, options.sizes.split(",")):
                theirs = [[] for _ in libraries]
                times = [[] for _ in ours]
                for _ in range(options.rounds):
                    for library, found in zip(libraries, theirs):
                        found.append(library.time(collective, size))
                    for program, found in zip(ours, times):
                        found.append(program.time(schedule, size))
                medians = list(map(statistics.median, theirs))
                line = f"{collective:14} {name_of(size):>5}" + "".join(f" {value * 1e6:10.1f}" for value in medians)
                for found in times:
                    outside, inside, _ = (statistics.median(column) for column in zip(*found))
                    line += f" {outside * 1e6:10.1f} {medians[0] / outside:7.2f} {inside * 1e6:10.1f}"
                    line += f" {medians[0] / inside:7.2f}"
                roof = statistics.median(record[2] for record in times[0])
                print(f"{line} {roof:11.0f}", flush=True)


if __name__ == "__main__":
    main()

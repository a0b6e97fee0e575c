#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times coppice-exec against the MPI library's own MPI_Allgather and MPI_Allreduce, one after the other in one go.

Loads on a machine change from minute to minute, so each size is measured in rounds that interleave both, and the medians
of the rounds are compared. The roofline is the copy bandwidth that coppice-exec measures in the same process just before.

    tests/executor/compare_openmpi.py build/release [--ranks 4] [--sizes 1M,16M,256M] [--rounds 5] [--backend threads]
"""

import argparse
import json
import os
import pathlib
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
    return max(5, min(200, (1 << 28) // size))


def environment():
    found = dict(os.environ)
    if os.geteuid() == 0:
        found["OMPI_ALLOW_RUN_AS_ROOT"] = found["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return found


def run_mpi(program, collective, size, ranks):
    command = ["mpirun", "-n", str(ranks), "--oversubscribe"]
    command += [program, collective, str(size), str(iterations_for(size)), "3"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def run_coppice(program, schedule, size, backend, ranks):
    command = [program, "run", schedule, "--backend", backend, "-b", str(size), "-e", str(size), "--json", "-w", "3"]
    command += ["-n", str(iterations_for(size)), "-c", "0"]
    if backend == "mpi":
        command += ["--launch", "mpirun", "--ranks", str(ranks)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    results = [record for record in map(json.loads, done.stdout.splitlines()) if record["t"] == "result"]
    found = {}
    for record in results:
        found["in" if record["in_place"] else "out"] = (record["time_us"] / 1e6, record["roofline_percent"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--sizes", default="1M,4M,16M,64M,256M")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--collectives", default="allgather,allreduce")
    parser.add_argument("--fabric", default="preset:complete,gpus={ranks}")
    options = parser.parse_args()
    build = pathlib.Path(options.build)
    mpi_program = next((str(path) for path in build.rglob("mpi_collectives") if path.is_file()), None)
    if mpi_program is None:
        sys.exit("mpi_collectives is not built: MPI was not found when the build was configured")
    with tempfile.TemporaryDirectory() as folder:
        print("collective      size      MPI us  Coppice us   ratio  in place   ratio  roofline %")
        for collective in options.collectives.split(","):
            schedule = f"{folder}/{collective}.forest.json"
            fabric = options.fabric.format(ranks=options.ranks)
            subprocess.run([build / "bin/coppice-cli", "generate", fabric, "-c", collective, "-o", schedule],
                           check=True, stdout=subprocess.DEVNULL)
            for size in map(bytes_of, options.sizes.split(",")):
                mpi, out, inside, roof = [], [], [], []
                for _ in range(options.rounds):
                    mpi.append(run_mpi(mpi_program, collective, size, options.ranks))
                    ours = run_coppice(build / "bin/coppice-exec", schedule, size, options.backend, options.ranks)
                    out.append(ours["out"][0])
                    inside.append(ours["in"][0])
                    roof.append(ours["out"][1] or 0)
                theirs = statistics.median(mpi)
                outside, inner = statistics.median(out), statistics.median(inside)
                print(f"{collective:10} {name_of(size):>9} {theirs * 1e6:11.1f} {outside * 1e6:11.1f} {theirs / outside:7.2f}"
                      f" {inner * 1e6:9.1f} {theirs / inner:7.2f} {statistics.median(roof):11.0f}", flush=True)


if __name__ == "__main__":
    main()

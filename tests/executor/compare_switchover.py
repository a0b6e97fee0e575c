#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts from a profile of this machine at which size a few-step allreduce and the forest are equally fast, and
measures it.

    tests/executor/compare_switchover.py build/release [--fabric preset:hypercube,dimension=4] [--rounds 7]

1. coppice-exec profile --together measures what messages between the ranks cost, and fits it.
2. coppice-cli generate makes the forest, coppice-cli synthesize the schedule of few steps; export makes programs.
3. coppice-cli compare --profile simulates both programs with the fitted costs, which gives the predicted size.
4. coppice-exec runs both at all sizes, in rounds that interleave the two programs, because loads on a machine change
   from minute to minute. Medians of the rounds are compared; between two sizes times are taken as lines on logarithmic
   axes.

Prints a table, and with --json one line for scripts. Exits with 1 where the few-step schedule does not win at the
smallest size, or where prediction and measurement are further apart than --factor.
"""

import argparse
import json
import math
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


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def crossing(sizes, few, forest):
    """Where the forest becomes faster, for good: None where it never is."""
    ratios = [math.log(a / b) for a, b in zip(few, forest)]
    if ratios[-1] <= 0:
        return None
    at = len(ratios) - 1
    while at > 0 and ratios[at - 1] > 0:
        at -= 1
    if at == 0:
        return float(sizes[0])
    low, high = ratios[at - 1], ratios[at]
    return sizes[at - 1] * (sizes[at] / sizes[at - 1]) ** (-low / (high - low))


class Experiment:
    def __init__(self, options, folder):
        self.options = options
        self.cli = pathlib.Path(options.build) / "bin/coppice-cli"
        self.executor = pathlib.Path(options.build) / "bin/coppice-exec"
        self.folder = pathlib.Path(folder)
        self.few = self.folder / "few.xml"
        self.forest = self.folder / "forest.xml"
        self.profile = self.folder / "profile.json"

    def make(self):
        options = self.options
        forest = self.folder / "forest.forest.json"
        run(self.cli, "generate", options.fabric, "-c", "allreduce", "-o", forest)
        steps = self.folder / "few.schedule.json"
        chunks, count, rounds = options.size.split(",")
        run(self.cli, "synthesize", options.fabric, "-c", "allreduce", "--chunks", chunks, "--steps", count,
            "--rounds", rounds, "-o", steps)
        for source, target in ((forest, self.forest), (steps, self.few)):
            run(self.cli, "export", source, "--format", "msccl", "-o", target)

    def measure_profile(self):
        run(self.executor, "profile", "--ranks", self.options.ranks, "--backend", self.options.backend, "--together",
            "--max", 1, "--json", "-o", self.profile)
        return json.loads(self.profile.read_text())["together"]

    def predict(self, sizes):
        answer = json.loads(run(self.cli, "compare", self.few, self.forest, "--fabric", self.options.fabric,
                                "-b", sizes[0], "-e", sizes[-1], "-f", 2, "--profile", self.profile, "--json"))
        times = {pathlib.Path(each["name"]).stem: [row["time_us"] for row in each["rows"]]
                 for each in answer["schedules"]}
        return times["few"], times["forest"], answer

    def time(self, program, size):
        iterations = max(10, min(2000, (1 << 26) // size))
        lines = run(self.executor, "run", "--backend", self.options.backend, "--json", "-w", 5, "-c", 0, program,
                    "-b", size, "-e", size, "-n", iterations).splitlines()
        records = [record for record in map(json.loads, lines) if record["t"] == "result" and record["in_place"]]
        return records[0]["time_us"]

    def measure(self, sizes):
        rounds = [[(self.time(self.few, size), self.time(self.forest, size)) for size in sizes]
                  for _ in range(self.options.rounds)]
        return [[statistics.median(each[i][which] for each in rounds) for i in range(len(sizes))] for which in (0, 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--fabric", default="preset:hypercube,dimension=4")
    parser.add_argument("--ranks", type=int, default=16, help="those of the fabric")
    parser.add_argument("--size", default="1,4,4", help="chunks, steps and rounds of the few-step schedule")
    parser.add_argument("--sizes", default="1K,16M", help="the smallest and the largest; each is twice the one before")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    first, last = map(bytes_of, options.sizes.split(","))
    sizes = [first]
    while sizes[-1] * 2 <= last:
        sizes.append(sizes[-1] * 2)
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(options, folder)
        experiment.make()
        fit = experiment.measure_profile()
        few, forest, _ = experiment.predict(sizes)
        measured_few, measured_forest = experiment.measure(sizes)
    predicted = crossing(sizes, few, forest)
    measured = crossing(sizes, measured_few, measured_forest)
    ratio = max(predicted / measured, measured / predicted) if predicted and measured else None
    is_faster = measured_few[0] < measured_forest[0]
    if options.json:
        print(json.dumps({"message_us": fit["alpha_us"], "us_per_MB": fit["beta_us_per_MB"], "sizes": sizes,
                          "predicted_us": {"few": few, "forest": forest},
                          "measured_us": {"few": measured_few, "forest": measured_forest},
                          "predicted": predicted, "measured": measured, "ratio": ratio}))
    else:
        print(f"{options.ranks} ranks, {options.backend} backend, medians of {options.rounds} rounds, microseconds")
        print(f"a message costs {fit['alpha_us']:.3f} us and {fit['beta_us_per_MB']:.1f} us per MB "
              f"(residual {fit['residual'] * 100:.0f} %)")
        print(f"{'size':>5} {'few, predicted':>15} {'measured':>10} {'forest, predicted':>19} {'measured':>10}")
        for i, size in enumerate(sizes):
            print(f"{name_of(size):>5} {few[i]:15.1f} {measured_few[i]:10.1f} {forest[i]:19.1f} "
                  f"{measured_forest[i]:10.1f}")
        tell = lambda value: "none" if value is None else f"{value:.0f} bytes"
        print(f"the forest is faster from: predicted {tell(predicted)}, measured {tell(measured)}"
              + (f", a factor of {ratio:.2f} apart" if ratio else ""))
    if not is_faster or ratio is None or ratio > options.factor:
        sys.exit(1)


if __name__ == "__main__":
    main()

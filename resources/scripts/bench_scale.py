#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the scale benchmark: every row several times, each time in a process of its own, so that the peak memory is the
row's. Prints one line per row with the median and the spread. Nothing is pinned and nothing else is stopped: on a busy
machine look at the CPU seconds.

  resources/scripts/bench_scale.py build/release
  resources/scripts/bench_scale.py build/release --rows 'torus|hypercube' --repeat 9
  resources/scripts/bench_scale.py build/release --group more --csv more.csv
  resources/scripts/bench_scale.py build/release --group live
"""
import argparse
import csv
import json
import os
import re
import resource
import statistics
import subprocess
import sys

GROUPS = ("table", "more", "growth")
LIVE_ROWS = r"/edits|^h100_rails_32/n-1"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build directory (Release), for example build/release")
    parser.add_argument("--rows", default="", help="only rows whose name matches this regular expression")
    parser.add_argument("--group", choices=GROUPS + ("live", "all"), default="table",
                        help="table: fabrics with a target (default); more: others; growth: sizes from 64 to 16384; "
                             "live: the bound after an edit and the N-1 sweep (program bench_live)")
    parser.add_argument("--repeat", type=int, default=5, help="processes per row (default 5)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds after which a process is stopped")
    parser.add_argument("--memory", type=float, default=0, help="GiB that a process may map; 0 = no limit")
    parser.add_argument("--csv", help="also write every run to this file")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    try:
        re.compile(arguments.rows)
    except re.error as error:
        parser.error(f"--rows: {arguments.rows!r} is no regular expression: {error}")
    return arguments


def program_of(build, name="bench_scale"):
    program = os.path.join(build, "tests", "bench", name)
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} does not exist: configure with Google Benchmark installed (libbenchmark-dev), "
                 f"then cmake --build {build} --target {name}")
    return program


def rows_of(program, group, pattern):
    listed = subprocess.run([program, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout
    rows = []
    for line in listed.splitlines():
        name = line.split("/iterations:")[0]
        if (group == "all" or name.startswith(group + "/")) and re.search(pattern, name):
            rows.append((name, line))
    if not rows:
        sys.exit("no row matches; --list shows them")
    return rows


def run(program, full_name, timeout, memory):
    """One process; its counters, or {"error": why}."""
    def limit():
        if memory > 0:
            size = int(memory * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

    literal = re.sub(r"([][.^$*+?(){}|\\])", r"\\\1", full_name)  # re.escape escapes more than POSIX allows
    command = [program, "--benchmark_filter=^" + literal + "$", "--benchmark_format=json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {timeout:g} s"}
    try:
        result = json.loads(done.stdout)["benchmarks"][0]
    except (ValueError, KeyError, IndexError):
        return {"error": f"ended with status {done.returncode}: {done.stderr.strip()[-200:]}"}
    if result.get("error_occurred"):
        return {"error": result.get("error_message", "failed")}
    return result


def seconds(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def memory_text(mebibytes):
    return f"{mebibytes:.0f} MiB" if mebibytes < 10240 else f"{mebibytes / 1024:.1f} GiB"


def verdict(row, median):
    """What is asked, and whether the row keeps it."""
    asked = []
    kept = True
    if row["asked_s"]:
        asked.append(f"{row['asked_s']:g} s")
        kept = kept and median <= row["asked_s"]
    if row["asked_max_height"]:
        asked.append(f"height {row['asked_max_height']:g}")
        kept = kept and row["max_height"] <= row["asked_max_height"]
    if row["asked_mean_height"]:
        asked.append(f"mean height {row['asked_mean_height']:g}")
        kept = kept and row["mean_height"] <= row["asked_mean_height"]
    if row["asked_inside"]:
        asked.append(f"{row['asked_inside']:g} hops inside boxes")
        kept = kept and row["inside_boxes"] <= row["asked_inside"]
    if row["asked_MiB"]:
        asked.append(f"{row['asked_MiB'] * 2**20 / 1e9:g} GB")
        kept = kept and row["peak_MiB"] <= row["asked_MiB"]
    return ", ".join(asked) or "-", ("yes" if kept else "NO") if asked else "-"


HEADER = ("fabric", "GPUs", "asked", "median [min..max] s", "CPU s", "kept", "max/mean height", "trees", "peak memory",
          "verified")


def live_limit(gpus):
    """Milliseconds that an edit may take, median over 100 random ones."""
    return 5 if gpus < 100 else 50 if gpus < 1000 else 1000


def milliseconds(value):
    return f"{value:.3g} ms"


def live_table(arguments):
    """The bound after one edit, and a whole N-1 sweep. Processor time, as bench_live counts it."""
    program = program_of(arguments.build, "bench_live")
    listed = subprocess.run([program, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.splitlines() if re.search(LIVE_ROWS, name) and re.search(arguments.rows, name)]
    if arguments.list:
        print("\n".join("live/" + name for name in names))
        return 0
    print("| live | GPUs | asked | median [p10..p90] | slowest | from nothing | kept | wrong |")
    print("|" + "---|" * 8, flush=True)
    failed = False
    for name in names:
        runs = [run(program, name, arguments.timeout, arguments.memory) for _ in range(arguments.repeat)]
        errors = [result["error"] for result in runs if "error" in result]
        shown = name.split("/iterations:")[0]
        if errors:
            failed = True
            print(f"| {shown} | | | {errors[0]} | | | | |", flush=True)
        elif "median_us" in runs[0]:
            best = sorted(runs, key=lambda result: result["median_us"])[len(runs) // 2]
            asked = live_limit(best["gpus"])
            print(f"| {shown} | {best['gpus']:.0f} | {asked} ms | {milliseconds(best['median_us'] / 1e3)} "
                  f"[{milliseconds(best['p10_us'] / 1e3)}..{milliseconds(best['p90_us'] / 1e3)}] | "
                  f"{milliseconds(best['max_us'] / 1e3)} | {milliseconds(best['nothing_us'] / 1e3)} | "
                  f"{'yes' if best['median_us'] <= asked * 1e3 else 'NO'} | "
                  f"{sum(result['wrong'] for result in runs):.0f} |", flush=True)
        else:
            times = [result["cpu_time"] for result in runs]
            print(f"| {shown}, {runs[0]['failures']:.0f} failures | 32 | 1000 ms | "
                  f"{milliseconds(statistics.median(times))} | {milliseconds(max(times))} | | "
                  f"{'yes' if statistics.median(times) <= 1000 else 'NO'} | |", flush=True)
    return 1 if failed else 0


def main():
    arguments = options()
    if arguments.group == "live":
        return live_table(arguments)
    program = program_of(arguments.build)
    rows = rows_of(program, arguments.group, arguments.rows)
    if arguments.list:
        print("\n".join(name for name, _ in rows))
        return 0

    print(f"{os.cpu_count()} cores, {arguments.repeat} runs per row", file=sys.stderr)
    print("| " + " | ".join(HEADER) + " |")
    print("|" + "---|" * len(HEADER), flush=True)
    records = []
    failed = False
    for name, full_name in rows:
        runs = []
        for _ in range(arguments.repeat):
            result = run(program, full_name, arguments.timeout, arguments.memory)
            records.append(dict(result, row=name))
            runs.append(result)
            if "error" in result:
                break  # the next one would end the same way
        shown = name.removeprefix(arguments.group + "/").rsplit("/", 1)
        errors = [result["error"] for result in runs if "error" in result]
        if errors:
            failed = True
            print(f"| {shown[0]} | {shown[-1]} | | {errors[0]} |" + " |" * (len(HEADER) - 4), flush=True)
            continue
        times = [result["real_time"] for result in runs]
        median = statistics.median(times)
        first = runs[0]
        asked, kept = verdict(first, median)
        print("| " + " | ".join((
            shown[0], f"{first['gpus']:.0f}", asked,
            f"{seconds(median)} [{seconds(min(times))}..{seconds(max(times))}]",
            seconds(statistics.median(result["cpu_time"] for result in runs)), kept,
            f"{first['max_height']:.0f} / {first['mean_height']:.1f}", f"{first['distinct_trees']:.0f}",
            memory_text(max(result["peak_MiB"] for result in runs)),
            "yes, at the bound" if first["bound_reached"] else "yes")) + " |", flush=True)

    if arguments.csv:
        fields = sorted({key for record in records for key in record} - {"row"})
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["row"] + fields)
            writer.writeheader()
            writer.writerows(records)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

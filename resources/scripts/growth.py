#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how time and memory grow with the number of GPUs, and draws it.

Runs the growth rows of the scale benchmark (generation with verification, nothing written), each in processes of its
own, from the smallest fabric of each family on until one exceeds the limits. Writes growth.csv and growth.svg.
Draws processor time, in which other work on the machine does not count; the wall clock is in the file beside it.

  resources/scripts/growth.py build/release
  resources/scripts/growth.py build/release --families a100,torus --repeat 1 --output /tmp/growth
  resources/scripts/growth.py --draw examples/growth.csv --output examples
"""
import argparse
import csv
import math
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True
import svg_chart  # noqa: E402
from bench_scale import program_of, rows_of, run  # noqa: E402
from svg_chart import FAINT, GRID, INK, marker, text  # noqa: E402

FAMILIES = {
    "a100": ("DGX A100 boxes on one switch", "#0072b2", "circle"),
    "mi250": ("MI250 boxes on one switch", "#d55e00", "square"),
    "rails": ("rail-optimised DGX H100", "#009e73", "triangle"),
    "fat_tree_3": ("3-tier fat tree", "#cc79a7", "diamond"),
    "torus": ("2-D torus", "#4d4d4d", "cross"),
}
COLUMNS = ("fabric", "gpus", "runs", "cpu_seconds", "cpu_seconds_min", "cpu_seconds_max", "wall_seconds", "peak_MiB",
           "distinct_trees", "k", "max_height", "mean_height", "bound_reached")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", help="build directory (Release), for example build/release")
    parser.add_argument("--families", default=",".join(FAMILIES), help="which, comma-separated (default all)")
    parser.add_argument("--largest", type=int, default=16384, help="GPUs of the largest fabric (default 16384)")
    parser.add_argument("--repeat", type=int, default=5, help="processes per point; the median is drawn (default 5)")
    parser.add_argument("--patience", type=float, default=30,
                        help="seconds after which a point is no longer repeated (default 30)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a family ends (default 300)")
    parser.add_argument("--memory", type=float, default=0, help="GiB that a process may map; 0 = no limit")
    parser.add_argument("--output", default="examples", help="folder of growth.csv and growth.svg (default examples)")
    parser.add_argument("--machine", help="the machine in words, for the chart (default: its number of cores)")
    parser.add_argument("--draw", metavar="CSV", help="measure nothing, draw this file")
    arguments = parser.parse_args()
    if not arguments.draw and not arguments.build:
        parser.error("name the build directory, or a file to draw")
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    return arguments


def measure(arguments):
    program = program_of(arguments.build)
    points = []
    for family in arguments.families.split(","):
        if family not in FAMILIES:
            sys.exit(f"no family {family}: choose from {', '.join(FAMILIES)}")
        for name, full_name in rows_of(program, "growth", f"^growth/{family}/"):
            gpus = int(name.rsplit("/", 1)[1])
            if gpus > arguments.largest:
                break
            runs = []
            start = time.monotonic()
            while not runs or (len(runs) < arguments.repeat and time.monotonic() - start < arguments.patience
                               and "error" not in runs[-1]):
                runs.append(run(program, full_name, arguments.timeout, arguments.memory))
            errors = [result["error"] for result in runs if "error" in result]
            if errors:
                print(f"{family} ends before {gpus} GPUs: {errors[0]}", flush=True)
                break
            times = [result["cpu_time"] for result in runs]
            point = {
                "fabric": family, "gpus": gpus, "runs": len(runs),
                "cpu_seconds": f"{statistics.median(times):.4g}",
                "cpu_seconds_min": f"{min(times):.4g}", "cpu_seconds_max": f"{max(times):.4g}",
                "wall_seconds": f"{statistics.median(result['real_time'] for result in runs):.4g}",
                "peak_MiB": f"{max(result['peak_MiB'] for result in runs):.1f}",
                "mean_height": f"{runs[0]['mean_height']:.2f}",
            }
            for column in ("distinct_trees", "k", "max_height", "bound_reached"):
                point[column] = f"{runs[0][column]:.0f}"
            points.append(point)
            save(points, os.path.join(arguments.output, "growth.csv"))  # what is measured stays, come what may
            print(f"{family:>12} {gpus:>6} GPUs {point['cpu_seconds']:>8} s {point['peak_MiB']:>8} MiB", flush=True)
    return points


def save(points, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(points)


WIDTH, HEIGHT = 1040, 560
PANEL_WIDTH, PANEL_HEIGHT = 400, 360
PANEL_TOP = 84


def decade(value, unit):
    """10 s, 100 ms, 1 GiB: the ticks of one axis in the unit a reader would use."""
    if unit == "s":
        if value >= 1:
            return f"{value:g} s"
        return f"{value * 1e3:g} ms" if value >= 1e-3 else f"{value * 1e6:g} µs"
    return f"{value:g} MiB" if value < 1024 else f"{value / 1024:g} GiB"


def panel(left, title, series, spread, ticks_y, unit):
    xs = sorted({x for _, points in series for x, _ in points})
    low_x, high_x = math.log2(xs[0]), math.log2(xs[-1])
    low_y, high_y = math.log10(ticks_y[0]), math.log10(ticks_y[-1])

    def place(x, y):
        return (left + PANEL_WIDTH * (math.log2(x) - low_x) / max(1e-9, high_x - low_x),
                PANEL_TOP + PANEL_HEIGHT * (high_y - math.log10(y)) / max(1e-9, high_y - low_y))

    out = [text(left, PANEL_TOP - 16, title, 15, extra=' font-weight="600"')]
    for tick in ticks_y:
        _, y = place(xs[0], tick)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL_WIDTH}" y2="{y:.1f}" stroke="{GRID}"/>')
        out.append(text(left - 10, y + 4, decade(tick, unit), 12, FAINT, "end"))
    for x_value in xs:
        x, _ = place(x_value, ticks_y[0])
        out.append(f'<line x1="{x:.1f}" y1="{PANEL_TOP}" x2="{x:.1f}" y2="{PANEL_TOP + PANEL_HEIGHT}" '
                   f'stroke="{GRID}"/>')
        label = f"{x_value // 1024}k" if x_value >= 1024 else str(x_value)
        out.append(text(x, PANEL_TOP + PANEL_HEIGHT + 19, label, 12, FAINT, "middle"))
    out.append(text(left + PANEL_WIDTH / 2, PANEL_TOP + PANEL_HEIGHT + 42, "GPUs (k = 1024)", 13, INK, "middle"))
    for family, points in series:
        _, color, shape = FAMILIES[family]
        for x_value, (low, high) in spread.get(family, {}).items():
            (x, bottom), (_, top) = place(x_value, low), place(x_value, high)
            out.append(f'<line x1="{x:.1f}" y1="{bottom:.1f}" x2="{x:.1f}" y2="{top:.1f}" stroke="{color}"/>')
        line = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        out.extend(marker(shape, *place(x, y), color) for x, y in points)
    return out


def ticks(values, steps):
    """Ticks from the largest step at or below all values to the smallest at or above them."""
    low = max((step for step in steps if step <= min(values)), default=steps[0])
    high = min((step for step in steps if step >= max(values)), default=steps[-1])
    return [step for step in steps if low <= step <= high]


def draw(points, machine, path):
    def series(column):
        return [(family, sorted((int(p["gpus"]), float(p[column])) for p in points if p["fabric"] == family))
                for family in FAMILIES if any(p["fabric"] == family for p in points)]

    seconds, memory = series("cpu_seconds"), series("peak_MiB")
    spread = {}
    for p in points:
        spread.setdefault(p["fabric"], {})[int(p["gpus"])] = (float(p["cpu_seconds_min"]), float(p["cpu_seconds_max"]))
    seconds_ticks = ticks([y for line in spread.values() for ends in line.values() for y in ends],
                          [10.0**e for e in range(-6, 6)])
    memory_ticks = ticks([y for _, line in memory for _, y in line], [4.0**e for e in range(0, 12)])
    out = svg_chart.begin(WIDTH, HEIGHT, "Optimal allgather: time and memory against the number of GPUs") + [
        text(90, 34, "Optimal allgather, generated and verified", 18, extra=' font-weight="600"'),
           text(WIDTH - 40, 34, f"{machine}; median, and range, of the runs", 13, FAINT, "end")]
    out += panel(90, "Processor time", seconds, spread, seconds_ticks, "s")
    out += panel(600, "Peak memory of the process", memory, {}, memory_ticks, "MiB")
    x = 90.0
    for family, _ in seconds:
        name, color, shape = FAMILIES[family]
        out.append(f'<line x1="{x}" y1="{HEIGHT - 28}" x2="{x + 26}" y2="{HEIGHT - 28}" stroke="{color}" '
                   f'stroke-width="2"/>')
        out.append(marker(shape, x + 13, HEIGHT - 28, color))
        out.append(text(x + 33, HEIGHT - 24, name, 13))
        x += 33 + 7.0 * len(name) + 18
    svg_chart.save(out, path)


def main():
    arguments = options()
    if arguments.draw:
        with open(arguments.draw, newline="", encoding="utf-8") as file:
            points = list(csv.DictReader(file))
        os.makedirs(arguments.output, exist_ok=True)
    else:
        os.makedirs(arguments.output, exist_ok=True)
        points = measure(arguments)
    if not points:
        sys.exit("nothing was measured")
    machine = arguments.machine or f"{os.cpu_count()} cores"
    draw(points, machine, os.path.join(arguments.output, "growth.svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

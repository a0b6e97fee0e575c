#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes and draws the throughput of ForestColl beside what people run today, exactly, without hardware.

Two boxes: allgather, reduce_scatter and allreduce on 2x DGX A100 and 2x AMD MI250 with all 16 GPUs of a box and with 8
(what figures 4.10 and 4.11 of the dissertation measure). Clusters: allgather on DGX A100 and MI250 from one box to 1,024
GPUs (the lower row of figure 4.14). Writes comparison.csv and comparison.svg.

  resources/scripts/comparison.py build/release
  resources/scripts/comparison.py build/release --largest 64 --output /tmp/comparison
  resources/scripts/comparison.py --draw examples/comparison.csv --output examples
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
import svg_chart  # noqa: E402
from svg_chart import FAINT, GRID, INK, marker, text  # noqa: E402

METHODS = {
    "forestcoll": ("ForestColl", "#0072b2", "circle"),
    "multi-ring": ("Rings, one for each NIC", "#d55e00", "square"),
    "blink": ("Blink + Switch", "#009e73", "triangle"),
    "multitree": ("MultiTree", "#cc79a7", "diamond"),
    "unwound": ("Switches unwound into rings", "#4d4d4d", "cross"),
}
PAIRS = {
    "a100": ("2x DGX A100", "preset:dgx-a100,boxes=2"),
    "mi250": ("2x MI250, 16+16", "preset:mi250,boxes=2"),
    "mi250_half": ("2x MI250, 8+8", "preset:mi250,boxes=2,gpus=0-7"),
}
COLLECTIVES = ("allgather", "reduce_scatter", "allreduce")
CLUSTERS = {
    "a100": ("DGX A100 cluster", "preset:dgx-a100,boxes={}", 8),
    "mi250": ("MI250 cluster", "preset:mi250,boxes={}", 16),
}
# Blink packs the trees of one root: that is an allreduce, not an allgather.
CLUSTER_METHODS = ("forestcoll", "multi-ring", "multitree", "unwound")
COLUMNS = ("part", "fabric", "gpus", "collective", "method", "algbw", "algbw_GBps", "note")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", help="build directory with bin/coppice-cli, for example build/release")
    parser.add_argument("--largest", type=int, default=1024, help="GPUs of the largest cluster (default 1024)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one schedule (default 900)")
    parser.add_argument("--output", default="examples", help="folder of the files (default examples)")
    parser.add_argument("--draw", metavar="CSV", help="compute nothing, draw this file")
    arguments = parser.parse_args()
    if not arguments.draw and not arguments.build:
        parser.error("name the build directory, or a file to draw")
    return arguments


def ask(program, method, fabric, collective, timeout):
    """algbw of a schedule that has been made and verified, or the reason why there is none."""
    if method == "forestcoll":
        command = [program, "generate", fabric, "-c", collective, "--json"]
    else:
        command = [program, "baseline", method, fabric, "-c", collective, "--json"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return "", f"no schedule within {timeout:g} s"
    answer = json.loads(ran.stdout)
    if ran.returncode != 0:
        return "", answer["error"]
    return answer["algbw"], ""


def compute(arguments):
    program = os.path.join(arguments.build, "bin", "coppice-cli")
    if not os.path.exists(program):
        sys.exit(f"{program} is missing: build coppice-cli first")
    cases = [("two boxes", name, 32 if name == "mi250" else 16, fabric, collective, method)
             for name, (_, fabric) in PAIRS.items() for collective in COLLECTIVES for method in METHODS]
    for name, (_, pattern, per_box) in CLUSTERS.items():
        boxes = 1
        while boxes * per_box <= arguments.largest:
            cases += [("cluster", name, boxes * per_box, pattern.format(boxes), "allgather", method)
                      for method in CLUSTER_METHODS]
            boxes *= 2
    rows = []
    for part, name, gpus, fabric, collective, method in cases:
        algbw, note = ask(program, method, fabric, collective, arguments.timeout)
        value = f"{float(Fraction(algbw)):.2f}" if algbw else ""
        rows.append(dict(zip(COLUMNS, (part, name, gpus, collective, method, algbw, value, note))))
        save(rows, os.path.join(arguments.output, "comparison.csv"))
    return rows


def save(rows, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def of(rows, **wanted):
    return [row for row in rows if all(str(row[key]) == str(value) for key, value in wanted.items())]


def report(rows):
    """The tables as text: GB/s, and how much faster ForestColl is."""
    for name, (title, _) in PAIRS.items():
        print(f"\n{title}, algbw in GB/s")
        print(f"  {'':30}" + "".join(f"{collective:>24}" for collective in COLLECTIVES))
        for method, (label, _, _) in METHODS.items():
            line = f"  {label:30}"
            for collective in COLLECTIVES:
                found = of(rows, part="two boxes", fabric=name, collective=collective, method=method)
                best = of(rows, part="two boxes", fabric=name, collective=collective, method="forestcoll")
                line += f"{beside(found, best):>24}"
            print(line)
    for name, (title, _, _) in CLUSTERS.items():
        print(f"\n{title}, allgather, algbw in GB/s")
        print(f"  {'GPUs':>6}" + "".join(f"{METHODS[method][0]:>30}" for method in CLUSTER_METHODS))
        for gpus in sorted({int(row["gpus"]) for row in of(rows, part="cluster", fabric=name)}):
            best = of(rows, part="cluster", fabric=name, gpus=gpus, method="forestcoll")
            print(f"  {gpus:>6}" + "".join(
                f"{beside(of(rows, part='cluster', fabric=name, gpus=gpus, method=method), best):>30}"
                for method in CLUSTER_METHODS))
    for row in rows:
        if row["note"] and row["method"] != "blink":
            print(f"\n{row['method']} on {row['fabric']}, {row['gpus']} GPUs: {row['note']}")


def beside(found, best):
    if not found or not found[0]["algbw"]:
        return "-"
    value = Fraction(found[0]["algbw"])
    if not best or found[0] is best[0]:
        return f"{float(value):.2f}"
    return f"{float(value):.2f} (+{float(Fraction(best[0]['algbw']) / value - 1) * 100:.0f} %)"


WIDTH, HEIGHT = 1040, 850


def nice_top(value):
    """The end of an axis: 1, 2, 2.5 or 5 times a power of ten, at or above the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def grid(left, top, width, height, highest, count=5):
    out = []
    for i in range(count + 1):
        y = top + height * (1 - i / count)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="{GRID}"/>')
        out.append(text(left - 8, y + 4, f"{highest * i / count:g}", 12, FAINT, "end"))
    return out


def bars(rows, name, left, top, width, height):
    title, _ = PAIRS[name]
    values = [float(row["algbw_GBps"]) for row in of(rows, part="two boxes", fabric=name) if row["algbw_GBps"]]
    highest = nice_top(max(values))
    out = [text(left, top - 14, title, 15, extra=' font-weight="600"')] + grid(left, top, width, height, highest)
    group = width / len(COLLECTIVES)
    for g, collective in enumerate(COLLECTIVES):
        present = [row for row in of(rows, part="two boxes", fabric=name, collective=collective) if row["algbw_GBps"]]
        bar = (group - 16) / len(METHODS)
        x = left + g * group + (group - bar * len(present)) / 2
        for row in present:
            tall = height * float(row["algbw_GBps"]) / highest
            color = METHODS[row["method"]][1]
            out.append(f'<rect x="{x:.1f}" y="{top + height - tall:.1f}" width="{bar - 2:.1f}" height="{tall:.1f}" '
                       f'fill="{color}"/>')
            out.append(text(x + bar / 2 - 1, top + height - tall - 4, f"{float(row['algbw_GBps']):.0f}", 10, FAINT,
                            "middle"))
            x += bar
        out.append(text(left + g * group + group / 2, top + height + 18, collective, 12, FAINT, "middle"))
    return out


def lines(rows, name, left, top, width, height):
    title, _, _ = CLUSTERS[name]
    points = [row for row in of(rows, part="cluster", fabric=name) if row["algbw_GBps"]]
    xs = sorted({int(row["gpus"]) for row in points})
    highest = nice_top(max(float(row["algbw_GBps"]) for row in points))
    low, high = math.log2(xs[0]), math.log2(xs[-1])

    def place(row):
        x = left + width * (math.log2(int(row["gpus"])) - low) / max(1e-9, high - low)
        return x, top + height * (1 - float(row["algbw_GBps"]) / highest)

    out = [text(left, top - 14, f"{title}, allgather", 15, extra=' font-weight="600"')]
    out += grid(left, top, width, height, highest)
    for gpus in xs:
        x = left + width * (math.log2(gpus) - low) / max(1e-9, high - low)
        out.append(text(x, top + height + 18, str(gpus), 12, FAINT, "middle"))
    out.append(text(left + width / 2, top + height + 40, "GPUs", 13, INK, "middle"))
    for method in reversed(CLUSTER_METHODS):  # ForestColl on top
        _, color, shape = METHODS[method]
        places = [place(row) for row in sorted(of(points, method=method), key=lambda row: int(row["gpus"]))]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [marker(shape, x, y, color) for x, y in places]
    return out


def draw(rows, path):
    out = svg_chart.begin(WIDTH, HEIGHT, "Throughput of ForestColl beside what people run today") + [
        text(60, 34, "algbw in GB/s where only bandwidth counts, computed exactly", 18, extra=' font-weight="600"')]
    for i, name in enumerate(PAIRS):
        out += bars(rows, name, 60 + i * 335, 88, 285, 260)
    for i, name in enumerate(CLUSTERS):
        out += lines(rows, name, 60 + i * 500, 438, 440, 300)
    x = 60.0
    for label, color, shape in METHODS.values():
        out.append(marker(shape, x + 6, HEIGHT - 28, color))
        out.append(text(x + 18, HEIGHT - 24, label, 13))
        x += 18 + 7.2 * len(label) + 26
    svg_chart.save(out, path)


def main():
    arguments = options()
    os.makedirs(arguments.output, exist_ok=True)
    if arguments.draw:
        with open(arguments.draw, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = compute(arguments)
    report(rows)
    draw(rows, os.path.join(arguments.output, "comparison.svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Failures, comparisons, uneven all-to-alls, runs, prices, topologies and orders: against the command line, and
against answers that are computed here."""

import csv
import io
import json
import os
import random
import subprocess
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

import coppice

CLI = os.environ["COPPICE_CLI"]
DATA = Path(__file__).parents[1] / "data"
TWO = "preset:dgx-h100,boxes=2"


def cli(*words):
    done = subprocess.run([CLI, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class UnevenAlltoall(unittest.TestCase):
    def test_bytes_of_pairs(self):
        numbers = random.Random(7)
        demand = [[numbers.choice((0, 1000, 4096, 5)) for _ in range(16)] for _ in range(16)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bytes.csv"
            path.write_text(coppice.table(demand))
            answer = cli("moe", TWO, "--demand", str(path))["exchange"]
            exchange = coppice.uneven_alltoall(coppice.load(TWO), demand)
            self.assertEqual(coppice.uneven_alltoall(coppice.load(TWO), path), exchange)
        self.assertEqual(str(exchange.time), answer["nanoseconds"])
        self.assertEqual(str(exchange.least), answer["least_nanoseconds"])
        self.assertEqual(str(exchange.direct), answer["direct_nanoseconds"])
        self.assertEqual(exchange.worst, answer["worst_rank"]["rank"])
        for rank, traffic in enumerate(exchange.ranks):
            self.assertEqual(traffic.sent, sum(demand[rank]) - demand[rank][rank])
            self.assertEqual(traffic.received, sum(row[rank] for row in demand) - demand[rank][rank])
            # 450 GB/s of NVLink and 50 of the NIC.
            self.assertEqual(traffic.alone, max(traffic.sent, traffic.received) / 500)
        self.assertLessEqual(max(traffic.alone for traffic in exchange.ranks), exchange.time)

    def test_even_bytes_take_the_time_of_the_alltoall(self):
        fabric = coppice.load(TWO)
        exchange = coppice.uneven_alltoall(fabric, [[1] * 16] * 16)
        self.assertEqual(16 / exchange.time, coppice.optimum(fabric, "alltoall").algbw)
        self.assertEqual(sum(link.bandwidth * link.price for link in exchange.limits), 1 / exchange.least)

    def test_experts(self):
        fabric = coppice.load(TWO)
        layer = coppice.moe(fabric, experts=32, top_k=2, tokens=1000)
        answer = cli("moe", TWO, "--experts", "32", "--top-k", "2", "--tokens", "1000")
        self.assertEqual(str(layer.dispatch.time), answer["dispatch"]["nanoseconds"])
        self.assertEqual(str(layer.combine.time), answer["combine"]["nanoseconds"])
        self.assertEqual(layer.placement, tuple(expert // 2 for expert in range(32)))
        # The tokens of each box go to experts of the other one.
        counts = [[100 if (rank < 8) == (expert >= 8) else 0 for expert in range(16)] for rank in range(16)]
        improved = coppice.moe(fabric, counts=counts, improve_placement=True)
        self.assertEqual(improved.before.time, Fraction(64 * 100 * 7168, 400))
        self.assertEqual(improved.dispatch.time, Fraction(7 * 100 * 7168, 500))
        again = coppice.moe(fabric, counts=counts, placement=improved.placement)
        self.assertEqual(again.dispatch.time, improved.dispatch.time)
        with self.assertRaisesRegex(coppice.Error, "tokens"):
            coppice.moe(fabric, experts=32)
        with self.assertRaises(coppice.Error):
            coppice.moe(fabric, demand="/no/such/file")

    def test_schedule(self):
        demand = [[10 * (row != column) * (1 + row) for column in range(16)] for row in range(16)]
        fabric = coppice.load(TWO)
        schedule = coppice.generate(fabric, "alltoall", method="alltoall", demand=coppice.table(demand))
        self.assertTrue(coppice.verify(schedule).ok)
        mean = Fraction(sum(map(sum, demand)), 16)
        self.assertEqual(mean / schedule.algbw, coppice.uneven_alltoall(fabric, demand).time)


class Drills(unittest.TestCase):
    def test_drill(self):
        source = "preset:dgx-a100,boxes=2"
        fabric = coppice.load(source)
        for words, arguments in ((["--kind", "nic,gpu"], {"parts": ["nic", "gpu"]}),
                                 (["--group", "rail"], {"group": "rail"}),
                                 (["--kind", "nic", "--pairs"], {"parts": ["nic"], "pairs": True}),
                                 (["--kind", "nic", "--keep-all"], {"parts": ["nic"], "keep_all": True})):
            if "--group" in words:
                source = "preset:dgx-h100,boxes=2,network=rails"
                fabric = coppice.load(source)
            with self.subTest(words=words):
                rows = cli("drill", source, *words)["classes"]
                drilled = coppice.drill(fabric, **arguments)
                self.assertEqual([(each.name, each.alike, each.bound, each.algbw, each.moved) for each in drilled],
                                 [(row["name"], row["alike"], Fraction(row["bound"]), Fraction(row["algbw"]),
                                   Fraction(row["moved"])) for row in rows])

    def test_repaired_schedules(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        schedule = coppice.generate(fabric)
        for drilled in coppice.drill(schedule, parts=["nic", "gpu"], schedules=True):
            self.assertEqual(drilled.bound, coppice.optimum(fabric.without(drilled.name)).algbw)
            verdict = coppice.verify(drilled.schedule)
            self.assertTrue(verdict.ok)
            self.assertEqual(verdict.algbw, drilled.algbw)
            self.assertEqual(drilled.schedule.fabric.gpu_count, drilled.gpus)
        for wrong in ({"parts": ["door"]}, {"within": "110%"}, {"group": "/no/such/file"}):
            with self.assertRaises(coppice.Error):
                coppice.drill(fabric, **wrong)
        with self.assertRaises(coppice.Error):
            coppice.drill(coppice.generate(fabric, method="ring"))


class Comparisons(unittest.TestCase):
    def test_methods(self):
        source = "preset:dgx-a100,boxes=2"
        sizes = [1 << 20, 1 << 22]
        answer = cli("compare", source, "--method", "forestcoll,ring,hierarchical", "-b", "1M", "-e", "4M")
        comparison = coppice.compare(coppice.load(source), methods=["forestcoll", "ring", "hierarchical"], sizes=sizes)
        self.assertEqual([(each.name, each.algbw, each.steps) for each in comparison.contenders],
                         [(row["name"], Fraction(row["algbw"]), row["steps"]) for row in answer["schedules"]])
        self.assertEqual([[(row.bytes, row.time_us) for row in each.rows] for each in comparison.contenders],
                         [[(row["size"], row["time_us"]) for row in each["rows"]] for each in answer["schedules"]])
        self.assertEqual([comparison.contenders[index].name for index in comparison.best],
                         [row["schedule"] for row in answer["best"]])
        self.assertEqual([(size, comparison.contenders[index].name) for size, index, _ in comparison.bands],
                         [(row["from"], row["schedule"]) for row in answer["switch_over"]])

    def test_schedules(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        ours = coppice.generate(fabric)
        rings = coppice.generate(fabric, method="ring")
        comparison = coppice.compare({"ours": ours, "rings": rings}, sizes=[1 << 28])
        self.assertEqual([each.name for each in comparison.contenders], ["ours", "rings"])
        self.assertEqual(comparison.best, (0,))
        self.assertEqual(comparison.contenders[0].rows, tuple(coppice.simulate(ours, 1 << 28)))
        with self.assertRaises(coppice.Error):
            coppice.compare([ours, coppice.generate(coppice.preset("dgx-a100", boxes=1))])
        with self.assertRaises(coppice.Error):
            coppice.compare(fabric, methods=["magic"])


class Runs(unittest.TestCase):
    def test_run(self):
        files = [DATA / "nccl" / "two_h100.log", DATA / "nccl" / "two_h100_all_reduce.txt"]
        answer = cli("import-run", *map(str, files), "--fabric", TWO)
        run = coppice.import_run(*files, fabric=coppice.load(TWO))
        [communicator] = run.communicators
        logged = answer["communicators"][0]
        self.assertEqual([list(ring) for ring in communicator.rings], logged["rings"])
        self.assertEqual([list(tree) for tree in communicator.trees], logged["trees"])
        self.assertEqual(communicator.hosts, tuple(logged["hosts"]))
        on = answer["fabric"]
        self.assertEqual(run.on.bound, Fraction(on["bound"]["algbw"]))
        self.assertEqual(run.on.rings[0], Fraction(on["rings"]["algbw"]))
        self.assertEqual([(size.bytes, size.measured_us) for size in run.on.sizes
                          if size.collective == run.on.collective],
                         [(row["bytes"], row["measured_us"]) for row in on["choices"]])
        self.assertTrue(coppice.verify(run.on.schedule).ok)
        self.assertIsNone(coppice.import_run(files[0]).on)
        with self.assertRaises(coppice.Error):
            coppice.import_run(Path(__file__))


class Networks(unittest.TestCase):
    def test_bill(self):
        source = "preset:dgx-h100,boxes=8,network=rails"
        fabric = coppice.load(source)
        for words, arguments in (([], {}), (["--fewest-watts"], {"fewest_watts": True}),
                                 (["--boxes-per-rack", "2"], {"boxes_per_rack": 2})):
            answer = cli("bom", source, *words)
            bill = coppice.bom(fabric, **arguments)
            self.assertEqual((bill.price, bill.watts, bill.racks),
                             (Fraction(answer["price"]), Fraction(answer["watts"]), answer["racks"]))
            self.assertEqual([(line.part, line.pieces) for line in bill.lines],
                             [(part["part"], part["pieces"]) for part in answer["parts"]])
            self.assertEqual(sum(line.price for line in bill.lines), bill.price)
            self.assertEqual(sum(cable.count for cable in bill.cables), answer["cables"])
            self.assertEqual(len(list(csv.reader(io.StringIO(bill.cable_csv)))), 1 + answer["cables"])

    def test_frontier(self):
        answer = cli("frontier", "--box", "dgx-h100", "--gpus", "16", "--network", "leaf-spine,rails")
        frontier = coppice.frontier(box="dgx-h100", gpus=16, network="leaf-spine,rails")
        self.assertEqual(frontier.variants, answer["variants"])
        self.assertEqual([(point.name, point.bill.price, point.on_front, point.allreduce) for point in frontier.points],
                         [(row["network"], Fraction(row["price"]), row["on_front"], Fraction(row["allreduce"]))
                          for row in answer["points"]])
        best = frontier.front[-1]
        self.assertEqual(coppice.bom(best.fabric).price, best.bill.price)
        self.assertEqual(coppice.optimum(best.fabric, "alltoall").algbw, best.alltoall_at_most)
        with self.assertRaises(coppice.Error):
            coppice.frontier(box="dgx-h100", gpus=17)

    def test_topologies(self):
        present = "preset:torus,dims=4x4"
        answer = cli("find-topology", "-n", "16", "-d", "4", "--duplex", "--goal", "alltoall", "--size", "1MiB=20",
                     "--present", present, "--reconfiguration", "10ms", "--job-steps", "1000")
        front = coppice.find_topologies(16, 4, duplex=True, goal="alltoall", sizes={1 << 20: 20},
                                        present=coppice.load(present), reconfiguration="10ms", job_steps=1000)
        self.assertEqual([(each.steps, each.bandwidth_time, each.construction) for each in front.topologies],
                         [(row["steps"], Fraction(row["t_b"]), row["construction"]) for row in answer["front"]])
        self.assertEqual(front.fastest, answer["fastest"])
        self.assertEqual([each.saved[2] for each in front.topologies],
                         [row["pays_from_steps"] for row in answer["changes"]])
        for each in front.topologies:
            fabric = each.fabric()
            self.assertEqual(fabric.gpu_count, 16)
            least, reached = each.alltoall
            self.assertLessEqual(least, reached)
            # M/B of the all-to-all: M is a buffer of 16 parts, B the bandwidth of a node.
            self.assertEqual(coppice.optimum(fabric, "alltoall").reached, 100 / reached)
        for wrong in ({"goal": "magic"}, {"reconfiguration": "10ms"}, {"alpha": "slow"}):
            with self.assertRaises(coppice.Error):
                coppice.find_topologies(16, 4, **wrong)

    def test_rank_order(self):
        source = "preset:dgx-h100,boxes=4,network=leaf-spine,oversubscription=4,boxes_per_leaf=2"
        fabric = coppice.load(source)
        hosts = ["b0", "b2", "b1", "b3"]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hostfile"
            path.write_text("\n".join(hosts) + "\n")
            answer = cli("rank-order", source, "--present", str(path), "--work", "5")
            order = coppice.rank_order(fabric, present=hosts, work=5, folder=Path(folder) / "order")
            self.assertTrue((Path(folder) / "order" / "rankfile").exists())
        self.assertEqual((order.given, order.best), (Fraction(answer["given"]["algbw"]),
                                                     Fraction(answer["best"]["algbw"])))
        self.assertEqual(order.proved, answer["proved"])
        self.assertEqual(list(order.gpus), [row["gpu"] for row in answer["order"]])
        self.assertGreater(order.best, order.given)
        self.assertEqual(sorted(order.gpus), sorted(fabric.gpus))
        with self.assertRaises(coppice.Error):
            coppice.rank_order(fabric, "magic")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The package coppice against the command line and against answers that are computed here."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from fractions import Fraction
from pathlib import Path

import coppice

CLI = os.environ["COPPICE_CLI"]


def cli(*words):
    """What the command line prints as JSON."""
    done = subprocess.run([CLI, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ring(count, bandwidth):
    nodes = [coppice.Node(f"g{i}") for i in range(count)]
    links = [coppice.Link(f"g{i}", f"g{(i + 1) % count}", Fraction(bandwidth)) for i in range(count)]
    return coppice.Fabric.build(nodes, links, name="ring")


class Fabrics(unittest.TestCase):
    def test_preset(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        self.assertEqual(fabric.gpu_count, 16)
        self.assertEqual(fabric.gpus[:2], ["b0g0", "b0g1"])
        self.assertEqual(fabric.digest, cli("optimum", "preset:dgx-a100,boxes=2")["digest"])
        self.assertIn("dgx-a100", [preset.name for preset in coppice.presets()])

    def test_numbers_are_exact(self):
        for given, wanted in [(25, 25), ("12.5", Fraction(25, 2)), ("25/2", Fraction(25, 2)), (0.1, Fraction(1, 10)),
                              (Fraction(1, 3), Fraction(1, 3))]:
            fabric = coppice.Fabric.build([coppice.Node("a"), coppice.Node("b")], [coppice.Link("a", "b", given)])
            self.assertEqual(fabric.links[0].bandwidth, wanted)
        with self.assertRaises(coppice.Error):
            coppice.Fabric.build([coppice.Node("a"), coppice.Node("b")], [coppice.Link("a", "b", "fast")])

    def test_edits(self):
        fabric = ring(4, 10)
        self.assertEqual(fabric.without("g1").gpus, ["g0", "g2", "g3"])
        self.assertEqual(len(fabric.without_link("g0", "g1").links), 3)
        wider = fabric.with_bandwidth("g1", "g0", 20)
        self.assertEqual([link.bandwidth for link in wider.links], [20, 10, 10, 10])
        self.assertEqual(fabric.links[0].bandwidth, 10)
        for edit in (lambda: fabric.without("g9"), lambda: fabric.without_link("g0", "g2"),
                     lambda: fabric.with_bandwidth("g0", "g2", 1)):
            with self.assertRaises(coppice.Error):
                edit()

    def test_files(self):
        fabric = coppice.preset("dgx-a100", boxes=1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.fabric.json"
            fabric.save(path)
            self.assertEqual(coppice.load(path).digest, fabric.digest)
            self.assertEqual(coppice.load(path, gpus=range(4)).gpu_count, 4)

    def test_networkx(self):
        try:
            import networkx
        except ImportError:
            self.skipTest("needs networkx")
        fabric = coppice.preset("dgx-h100", boxes=2)
        again = coppice.Fabric.from_networkx(fabric.to_networkx())
        self.assertEqual(coppice.optimum(again, "allreduce"), coppice.optimum(fabric, "allreduce"))
        graph = networkx.petersen_graph()
        networkx.set_edge_attributes(graph, 12.5, "bandwidth")
        # Ten GPUs of three links: nine shards enter each.
        self.assertEqual(coppice.optimum(coppice.Fabric.from_networkx(graph)).algbw, Fraction(75, 2) * 10 / 9)
        multi = networkx.MultiGraph()
        multi.add_edge(0, 1, bandwidth=3)
        multi.add_edge(0, 1, bandwidth=4)
        self.assertEqual(coppice.optimum(coppice.Fabric.from_networkx(multi)).algbw, 14)
        with self.assertRaisesRegex(coppice.Error, "bandwidth"):
            coppice.Fabric.from_networkx(networkx.path_graph(2))

    def test_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("needs numpy")
        matrix = numpy.array([[0, 12.5, 1], [12.5, 0, 2], [1, 2, 0]])
        fabric = coppice.Fabric.from_numpy(matrix)
        self.assertTrue((fabric.to_numpy() == matrix).all())
        self.assertEqual(coppice.optimum(fabric).algbw, Fraction(9, 2))  # rank 2 takes two shards over 3 GB/s


class Questions(unittest.TestCase):
    def test_optimum_is_that_of_the_command_line(self):
        for source in ("preset:dgx-a100,boxes=2", "preset:dgx-h100,boxes=2", "preset:mi250,boxes=2"):
            fabric = coppice.load(source)
            for collective in ("allgather", "reduce_scatter", "allreduce", "broadcast", "alltoall"):
                with self.subTest(source=source, collective=collective):
                    words = ["optimum", source, "-c", collective]
                    root = None
                    if collective == "broadcast":
                        root = 1
                        words += ["--root", "1"]
                    answer = cli(*words)
                    optimum = coppice.optimum(fabric, collective, root=root)
                    self.assertEqual(optimum.algbw, Fraction(answer["algbw"]))
                    self.assertEqual(optimum.busbw, Fraction(answer["busbw"]))
                    self.assertEqual(optimum.exact, answer["optimal"])
                    if "allreduce_bound" in answer:
                        self.assertEqual(optimum.allreduce_bound.algbw, Fraction(answer["allreduce_bound"]["algbw"]))
                    if optimum.plain_switches:
                        self.assertEqual(optimum.plain_switches.algbw, Fraction(answer["plain_switches"]["algbw"]))

    def test_cut_proves_the_optimum(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        optimum = coppice.optimum(fabric)
        graph = {}
        for link in fabric.links:
            for ends in ((link.source, link.target), (link.target, link.source)):
                graph[ends] = graph.get(ends, 0) + link.bandwidth * link.count
        for cut in optimum.cuts:
            inside = set(cut.nodes)
            self.assertEqual(sum(rate for (a, b), rate in graph.items() if a in inside and b not in inside),
                             cut.bandwidth)
            self.assertEqual(len(inside & set(fabric.gpus)), cut.demand)
            self.assertEqual(optimum.algbw, fabric.gpu_count * cut.bandwidth / cut.demand)

    def test_amounts(self):
        fabric = ring(4, 10)
        for amounts in ([2, 1, 1, 0], {"g0": 2, "g3": 0}, "2,1,1,0"):
            self.assertEqual(coppice.optimum(fabric, amounts=amounts).algbw, Fraction(20))

    def test_prices(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        for by in ("link", "class"):
            rows = cli("prices", "preset:dgx-a100,boxes=2", "--by", by)["prices"]
            prices = coppice.prices(fabric, by=by)
            self.assertEqual([(price.name, price.gain, price.loss) for price in prices],
                             [(row["name"], Fraction(row["gain"]), Fraction(row["loss"])) for row in rows])
        # One more GB/s on each NVLink: the bound of the edited fabric says the same.
        best = coppice.prices(fabric, by="class")[0]
        wider = fabric
        for source, target in best.links[::2]:
            wider = wider.with_bandwidth(source, target, 301)
        self.assertEqual(coppice.optimum(wider).algbw - coppice.optimum(fabric).algbw, best.gain)

    def test_groups(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        answer = cli("optimum", "preset:dgx-a100,boxes=2", "--mesh", "2x8", "--axis", "0")
        pairs = [coppice.Group((rank, rank + 8)) for rank in range(8)]
        for optimum in (coppice.optimum_of_groups(fabric, mesh="2x8", axis=0),
                        coppice.optimum_of_groups(fabric, pairs)):
            self.assertEqual(optimum.rate, Fraction(answer["rate"]))
            self.assertEqual(optimum.exact, answer["exact"])
            self.assertEqual(sum(link.bandwidth * link.price for link in optimum.cut), optimum.rate)
        with self.assertRaises(coppice.Error):
            coppice.optimum_of_groups(fabric)
        with self.assertRaises(coppice.Error):
            coppice.optimum_of_groups(fabric, mesh="3x5")

    def test_schedules_of_groups(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        rate = coppice.optimum_of_groups(fabric, mesh="2x8", axis=0).rate
        schedules = coppice.generate_groups(fabric, mesh="2x8", axis=0)
        self.assertEqual(len(schedules), 8)
        def add(links, bandwidths):
            for link in links:
                for ends in ((link.source, link.target), (link.target, link.source))[:2 if link.duplex else 1]:
                    bandwidths[ends] = bandwidths.get(ends, 0) + link.bandwidth * link.count

        used = {}
        for schedule in schedules:
            self.assertTrue(coppice.verify(schedule).ok)
            self.assertGreaterEqual(schedule.algbw, rate)
            self.assertEqual(schedule.fabric.gpu_count, 2)
            add(schedule.fabric.links, used)
        whole = {}
        add(fabric.links, whole)
        for ends, bandwidth in used.items():
            self.assertLessEqual(bandwidth, whole[ends])

    def test_training(self):
        fabric = coppice.preset("dgx-h100", boxes=2)
        options = {"batch": 64, "sequence": 4096, "plan": "cp=1,ep=1"}
        plans = coppice.train(fabric, "llama-3-8b", **options)
        answer = cli("train", "preset:dgx-h100,boxes=2", "--model", "llama-3-8b", "--batch", "64", "--sequence",
                     "4096", "--plan", "cp=1,ep=1")["plans"]
        self.assertEqual([str(plan.communication) for plan in plans], [row["communication"] for row in answer])
        self.assertEqual([plan.sizes for plan in plans], [row["sizes"] for row in answer])
        self.assertEqual(plans[0].step, max(plans[0].compute + plans[0].bubble, plans[0].communication))
        self.assertEqual(sum(moved.time for moved in plans[0].moved), plans[0].communication)
        with self.assertRaises(coppice.Error):
            coppice.train(fabric, "gpt-17")
        with self.assertRaises(coppice.Error):
            coppice.train(fabric, "llama-3-405b", memory="1GB", batch=64)

    def test_n_minus_one(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        worst = coppice.n_minus_one(fabric, parts=["nic", "gpu"])
        rows = cli("n-1", "preset:dgx-a100,boxes=2", "--parts", "nic,gpu")["ranking"]
        self.assertEqual([(failure.name, failure.algbw) for failure in worst],
                         [(row["name"], Fraction(row["algbw"])) for row in rows])
        for failure in worst[:2] + worst[-1:]:
            self.assertEqual(coppice.optimum(fabric.without(failure.name)).algbw, failure.algbw)


class Schedules(unittest.TestCase):
    def test_trees(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        schedule = coppice.generate(fabric)
        self.assertEqual((schedule.algbw, schedule.bound), (Fraction(1040, 3), Fraction(1040, 3)))
        verdict = coppice.verify(schedule)
        self.assertTrue(verdict.ok and verdict.bound_proved)
        loads = {}
        for tree in schedule.trees:
            reached = {tree.root}
            for edge in tree.edges:
                self.assertIn(edge.parent, reached)
                reached.add(edge.child)
                for hop in zip(edge.route, edge.route[1:]):
                    loads[hop] = loads.get(hop, 0) + tree.multiplicity
            self.assertEqual(len(reached), 16)
        # The busiest link carries its part of the data in the time that algbw says.
        trees = sum(tree.multiplicity for tree in schedule.trees)
        rates = {(a, b): rate for a, b, rate in fabric._core.arcs()}
        self.assertEqual(max(Fraction(load, trees) / rates[hop] for hop, load in loads.items()), 1 / schedule.algbw)

    def test_every_collective(self):
        fabric = ring(4, 10)
        for collective in ("allgather", "reduce_scatter", "allreduce", "broadcast", "reduce", "gather", "scatter",
                           "alltoall"):
            with self.subTest(collective=collective):
                method = "alltoall" if collective == "alltoall" else "forestcoll"
                root = 0 if collective in ("broadcast", "reduce", "gather", "scatter") else None
                schedule = coppice.generate(fabric, collective, method=method, root=root)
                self.assertTrue(coppice.verify(schedule).ok)
                self.assertTrue(schedule.trees or schedule.reduce_trees or schedule.transfers)

    def test_methods(self):
        fabric = ring(4, 10)
        ids = [method.id for method in coppice.methods("allgather")]
        self.assertEqual(ids[0], "forestcoll")
        schedule = coppice.generate(fabric, method="ring")
        self.assertEqual(schedule.method, "ring")
        self.assertEqual({transfer.step for transfer in schedule.transfers}, {0, 1, 2})
        self.assertLess(coppice.generate(fabric, max_height=2).algbw, schedule.fabric.gpu_count * 20)

    def test_files(self):
        fabric = ring(4, 10)
        for made in (coppice.generate(fabric), coppice.generate(fabric, method="ring")):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "a.json"
                made.save(path)
                read = coppice.read_schedule(path)
                self.assertEqual(read.to_json(), made.to_json())
                spoiled = path.read_text().replace('"algbw": "', '"algbw": "9')
                path.write_text(spoiled)
                self.assertFalse(coppice.verify(coppice.read_schedule(path)).ok)

    def test_simulation(self):
        schedule = coppice.generate(ring(4, 10))
        rows = coppice.simulate(schedule, [1 << 10, 1 << 30])
        self.assertEqual([row.bytes for row in rows], [1 << 10, 1 << 30])
        self.assertLessEqual(rows[1].algbw, float(schedule.algbw))
        self.assertGreater(rows[1].algbw, 0.9 * float(schedule.algbw))
        free = coppice.simulate(schedule, 1 << 30, link_latency=0, message_overhead=0)
        self.assertLessEqual(free[0].time_us, rows[1].time_us)
        with self.assertRaises(coppice.Error):
            coppice.simulate(schedule, 0)

    def test_export(self):
        schedule = coppice.generate(coppice.preset("dgx-a100", boxes=2))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.xml"
            text = coppice.export(schedule, path)
            self.assertEqual(path.read_text(), text)
            self.assertTrue(cli("verify", str(path))["ok"])
        self.assertTrue(coppice.export(schedule, target="trees").startswith("<Algo "))
        with self.assertRaisesRegex(coppice.Error, "nothing"):
            coppice.export(schedule, target="nothing")


class Faults(unittest.TestCase):
    def test_errors_name_the_place_and_the_fix(self):
        with self.assertRaises(coppice.Error) as caught:
            coppice.Fabric.from_json('{"nodes": [', "x.json")
        self.assertEqual(caught.exception.code, "bad_input")
        self.assertIn("x.json:1", caught.exception.where)
        self.assertTrue(caught.exception.fix)
        with self.assertRaises(coppice.Error) as caught:
            coppice.generate(ring(4, 10), max_height="high")
        self.assertIn("max_height", str(caught.exception))
        self.assertNotIn("--", str(caught.exception))
        for call in (lambda: coppice.preset("dgx-a10"), lambda: coppice.optimum(ring(4, 10), "allsum"),
                     lambda: coppice.generate(ring(4, 10), method="magic"), lambda: coppice.load("/no/such/file"),
                     lambda: coppice.prices(ring(4, 10), by="box"),
                     lambda: coppice.n_minus_one(ring(4, 10), parts=["door"]),
                     lambda: coppice.Fabric.build([coppice.Node("a")], [])):
            with self.assertRaises(coppice.Error) as caught:
                call()
            self.assertTrue(str(caught.exception))

    def test_progress_may_stop_the_work(self):
        class Enough(Exception):
            pass

        def listen(stage, fraction):
            self.assertTrue(stage)
            self.assertTrue(0 <= fraction <= 1)
            raise Enough

        big = coppice.preset("mi250", boxes=2)
        with self.assertRaises(Enough):
            coppice.generate(big, method="taccl", search_time=200, progress=listen)

    def test_interrupt(self):
        big = coppice.preset("mi250", boxes=2)
        threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            coppice.generate(big, method="taccl", search_time=200)
            time.sleep(1)

    def test_threads(self):
        fabric = coppice.preset("dgx-a100", boxes=2)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(coppice.optimum(fabric).algbw)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [Fraction(1040, 3)] * 4)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""A tour of the Python package, in cells as notebooks and editors read them.

Run it with the package on the path: PYTHONPATH=build/release/python python3 examples/python_tour.py
"""

# %% A fabric: two DGX A100, as they are sold
import coppice

fabric = coppice.preset("dgx-a100", boxes=2)
print(fabric)

# %% How fast an allgather can be, exactly, and the cut that proves it
optimum = coppice.optimum(fabric, "allgather")
inside = [id for id in optimum.cut.nodes if id in fabric.gpus]
print(f"{optimum.algbw} = {float(optimum.algbw):.2f} GB/s: {optimum.scope}")
print(f"{len(inside)} GPUs send over {optimum.cut.bandwidth} GB/s")

# %% A schedule that reaches it, checked by a verifier that shares no computation with the generator
schedule = coppice.generate(fabric, "allgather")
verdict = coppice.verify(schedule)
print(f"{len(schedule.trees)} different trees, verified: {verdict.ok}, {verdict.algbw} GB/s")

# %% What others reach on it
for method in ("ring", "multi-ring", "hierarchical", "unwound"):
    other = coppice.generate(fabric, "allgather", method=method)
    print(f"{method:13} {float(other.algbw):7.2f} GB/s, {float(100 * other.algbw / optimum.algbw):.0f} % of the optimum")

# %% How long it takes, by size
for row in coppice.simulate(schedule, [1 << 20, 1 << 24, 1 << 30]):
    print(f"{row.bytes:12} bytes {row.time_us:10.1f} us {row.algbw:7.1f} GB/s")

# %% What one more GB/s is worth, and what a failure costs
best = coppice.prices(fabric, "allgather", by="class")[0]
print(f"1 GB/s more on each {best.name}: {best.gain} GB/s")
worst = coppice.n_minus_one(fabric, "allgather", parts=["nic", "link"])[0]
print(f"without {worst.part} {worst.name}: {float(100 * worst.loss):.1f} % less")

# %% The schedule repaired after a failure: what remains, and how much of the data moves to new trees
lost = coppice.drill(schedule, parts=["nic"], schedules=True)[0]
print(f"without {lost.part} {lost.name}: {float(lost.algbw):.2f} GB/s left, {float(100 * lost.moved):.1f} % moved, "
      f"verified: {coppice.verify(lost.schedule).ok}")

# %% An uneven all-to-all: tokens of 64 experts, 8 for each, 4096 tokens a GPU
layer = coppice.moe(fabric, experts=64, top_k=8, tokens=4096)
print(f"dispatch takes {float(layer.dispatch.time) / 1e6:.2f} ms at least, {layer.dispatch.network_gbps:.1f} GB/s out of "
      "its box for each GPU meanwhile")

# %% Which GPU should get which rank, if NCCL runs as it is
order = coppice.rank_order(coppice.preset("torus", dims="4x4"), "recursive-halving", work=5)
print(f"recursive halving on a torus: {float(order.given):.2f} GB/s as it is, {float(order.best):.2f} GB/s reordered")

# %% What a network costs, against what it reaches
for point in coppice.frontier(box="dgx-h100", gpus=16, network="leaf-spine,rails").front:
    print(f"{point.name}: {float(point.bill.price):.0f}, allreduce {float(point.allreduce):.1f} GB/s")

# %% The same question of another fabric
faster = fabric
for link in fabric.links:
    if "nic" in link.source or "nic" in link.target:
        faster = faster.with_bandwidth(link.source, link.target, 2 * link.bandwidth)
print(f"with NICs twice as fast: {float(coppice.optimum(faster, 'allgather').algbw):.2f} GB/s")

# %% A program that a runtime executes
program = coppice.export(schedule, target="msccl")
print(program.splitlines()[0])

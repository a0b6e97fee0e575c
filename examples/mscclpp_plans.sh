#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes execution plans for MSCCL++: an allreduce of two DGX H100 boxes that NVSwitches sum and copy, and allgathers for
# bands of sizes, in LL or Simple. Verifies them, runs them on threads with their data checked, plays them, and writes
# launch bundles. No GPU is needed. Writes into the given folder (default build/mscclpp-plans).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build/mscclpp-plans}
if [[ $# -gt 1 || $out == -* ]]; then
  echo "usage: examples/mscclpp_plans.sh [folder]" >&2
  exit 2
fi
if [[ ! -x build/release/bin/coppice-cli || ! -x build/release/bin/coppice-exec ]]; then
  cmake --preset release >/dev/null
  cmake --build --preset release --target coppice-cli coppice-exec --parallel "${COPPICE_JOBS:-2}"
fi
cli=build/release/bin/coppice-cli
mkdir -p "$out"
rm -rf "$out/switches" "$out/sizes" "$out/sizes-plans"

fabric=preset:dgx-h100,boxes=2
"$cli" generate "$fabric" --collective allreduce -o "$out/h100.forest.json"
"$cli" export "$out/h100.forest.json" --target mscclpp-nvls -o "$out/h100.plan.json"
"$cli" verify "$out/h100.plan.json"
build/release/bin/coppice-exec "$out/h100.plan.json" -b 1M -e 4M -n 2
"$cli" simulate "$out/h100.plan.json" --fabric "$fabric" -b 1M -e 1G -f 32
"$cli" run "$out/h100.plan.json" --bundle "$out/switches" --target mscclpp

"$cli" best preset:dgx-a100,boxes=2 -c allgather -b 16K -e 256M --methods forestcoll,ring,bruck --target mscclpp \
  -o "$out/sizes-plans"
"$cli" run "$out/sizes-plans" --bundle "$out/sizes" --target mscclpp
echo
echo "Launch bundles: $out/switches and $out/sizes"

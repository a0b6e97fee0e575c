#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints what ForestColl reaches beside rings, Blink, MultiTree and unwound switches, on two DGX A100 boxes, on two MI250
# boxes (all GPUs, and 8 of each), and on clusters of both up to 1,024 GPUs. All figures are exact, of schedules that the
# verifier has accepted; no hardware is needed. Builds coppice-cli if it is not there; writes comparison.csv and
# comparison.svg into the given folder (default build/comparison).
# COPPICE_LARGEST=64 ends the clusters at 64 GPUs; all of them take some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=${1:-build/comparison}
if [[ $# -gt 1 || $output == -* ]]; then
  echo "usage: examples/compare.sh [folder]" >&2
  exit 2
fi
if [[ ! -x build/release/bin/coppice-cli ]]; then
  cmake --preset release >/dev/null
  cmake --build --preset release --target coppice-cli --parallel "${COPPICE_JOBS:-2}"
fi
python3 resources/scripts/comparison.py build/release --largest "${COPPICE_LARGEST:-1024}" --output "$output"
echo
echo "Written: $output/comparison.csv and $output/comparison.svg"

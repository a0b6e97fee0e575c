#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets (clang, address and undefined-behaviour sanitizers) and runs each of them over its seeds.
# Usage: tests/fuzz/run.sh [seconds per target, default 60] [target ...]
# Findings and grown corpora stay in build/fuzz/run/<target>.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-60}
if ! [[ $seconds =~ ^[0-9]+$ ]]; then
  echo "usage: tests/fuzz/run.sh [seconds] [target ...]" >&2
  exit 2
fi
shift || true
if ! command -v clang++ >/dev/null; then
  echo "The fuzz targets need clang and its runtime (Debian: clang libclang-rt-14-dev)" >&2
  exit 1
fi

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzzers --parallel "${COPPICE_JOBS:-2}"

if (($#)); then
  targets=("$@")
else
  targets=()
  for source in tests/fuzz/fuzz_*.cpp; do
    targets+=("$(basename "$source" .cpp)")
  done
fi

root=$PWD
for target in "${targets[@]}"; do
  program=$root/build/fuzz/tests/fuzz/$target
  if [[ ! -x $program ]]; then
    echo "$target: not built (a library is missing)" >&2
    continue
  fi
  work=$root/build/fuzz/run/$target
  mkdir -p "$work/corpus"
  seeds=$root/tests/fuzz/corpus/${target#fuzz_}
  inputs=("$work/corpus")
  [[ -d $seeds ]] && inputs+=("$seeds")
  echo "$target: $seconds s"
  (cd "$work" && "$program" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -max_len=65536 \
    -print_final_stats=1 "${inputs[@]}" >log.txt 2>&1) || {
    tail -n 40 "$work/log.txt" >&2
    echo "$target: FAILED; the input is in $work" >&2
    exit 1
  }
  grep -E "stat::number_of_executed_units|stat::peak_rss_mb" "$work/log.txt"
done

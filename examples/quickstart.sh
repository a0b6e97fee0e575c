#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian machine to a verified MSCCL program for two DGX A100 boxes: installs missing packages, builds the
# command line program in Release, and runs it on examples/2x-dgx-a100.fabric.json.
# With --all it also builds the designer, the executor and the Graphviz helper, and draws the bottleneck. At a terminal
# with a display the designer then opens with that fabric.
# COPPICE_JOBS sets how many compilers run at once; COPPICE_NO_INSTALL=1 installs nothing; COPPICE_NO_WINDOW=1 opens no
# window.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# shellcheck source=resources/scripts/packages.sh
source resources/scripts/packages.sh

all=0
case "${1:-}" in
  "") ;;
  --all) all=1 ;;
  *)
    echo "usage: examples/quickstart.sh [--all]" >&2
    exit 2
    ;;
esac

# build TARGET...: configures, so that libraries installed since are found, and builds; shows output only if it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
build() {
  if ! { cmake --preset release && cmake --build --preset release --target "$@" --parallel "${COPPICE_JOBS:-2}"; } \
    >"$log" 2>&1; then
    cat "$log" >&2
    echo "quickstart: the build failed; its output is above" >&2
    exit 1
  fi
}

packages=("${COPPICE_BUILD_PACKAGES[@]}")
if ((all)); then
  packages+=("${COPPICE_DESIGNER_PACKAGES[@]}" "${COPPICE_EXECUTOR_PACKAGES[@]}")
fi
ensure_packages "${packages[@]}"
echo "Building coppice-cli (Release) in build/release; the first time takes some minutes ..."
build coppice-cli

cli=build/release/bin/coppice-cli
designer=build/release/bin/coppice
fabric=examples/2x-dgx-a100.fabric.json
out=build/quickstart
mkdir -p "$out"

run() {
  printf '\n$ coppice-cli %s\n' "$*"
  "$cli" "$@"
}
run check "$fabric"
run optimum "$fabric"
# --sizes pow2: the best trees whose program runtimes use at powers of two.
run generate "$fabric" --collective allgather --sizes pow2 --show-trees 1 -o "$out/2x-dgx-a100.forest.json"
run verify "$out/2x-dgx-a100.forest.json"
run export "$out/2x-dgx-a100.forest.json" --format msccl -o "$out/2x-dgx-a100.xml"
run verify "$out/2x-dgx-a100.xml"

printf '\nDone. Everything above was checked by a verifier that shares no computation with the generator.\n'
printf 'A sweep of nccl-tests over powers of two (-b 1K -e 1G -f 2) uses the program at every size.\n'
printf '  schedule   %s\n  MSCCL XML  %s\n' "$out/2x-dgx-a100.forest.json" "$out/2x-dgx-a100.xml"
if ((!all)); then
  printf '\nNext:  examples/quickstart.sh --all   builds the designer (the window) and the executor\n'
  exit 0
fi

echo
echo "Building the designer and the executor; the first time takes some minutes more ..."
build programs
if [[ ! -x $designer ]]; then
  echo "The designer was not built because Qt 6 was not found. coppice-cli has all the mathematics."
  exit 0
fi
"$designer" --export-image "$out/2x-dgx-a100.svg" --mode analyse "$fabric"
printf '  picture    %s\n' "$out/2x-dgx-a100.svg"
printf '\nThe designer:  %s %s\n' "$designer" "$fabric"
if [[ -t 1 && -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} && ${COPPICE_NO_WINDOW:-0} != 1 ]]; then
  echo "It opens now."
  nohup "$designer" "$fabric" >/dev/null 2>&1 &
fi

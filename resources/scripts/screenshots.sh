#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Retakes resources/screenshots and the screenshots of the help from the real window, without a display: builds
# coppice-screenshots in the build folder (the first argument; build/release without one) and runs it. Makes the files
# small where pngquant and optipng are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
out=resources/screenshots
help=resources/help/pictures
cmake --build "$build" --target coppice-screenshots --parallel "${COPPICE_JOBS:-2}"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home XDG_CONFIG_HOME=$home XDG_DATA_HOME=$home XDG_RUNTIME_DIR=$home
QT_QPA_PLATFORM="offscreen:configfile=$PWD/tests/designer/window/screens/1600x1000.json" "$build/tests/coppice-screenshots" "$out"
QT_QPA_PLATFORM=offscreen "$build/tests/coppice-screenshots" "$help" help
for picture in "$out"/*.png "$help"/*.png; do
  if command -v pngquant >/dev/null; then
    pngquant --force --skip-if-larger --nofs --quality 80-100 --output "$picture" "$picture" || true
  fi
  if command -v optipng >/dev/null; then
    optipng -quiet -o4 "$picture"
  fi
done
ls -l "$out" "$help"

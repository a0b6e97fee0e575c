#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks format (clang-format), shell scripts (shellcheck) and C++ (clang-tidy) of the whole tree, or of the C++ files
# named as arguments. Needs clang-format, clang-tidy and shellcheck, and a configured build directory with a compile
# command for each source: build/debug, or $COPPICE_BUILD_DIR. The release build compiles sources in groups.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${COPPICE_BUILD_DIR:-build/debug}

if (($#)); then
  files=("$@")
else
  mapfile -t files < <(git ls-files '*.cpp' '*.hpp')
  mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
  shellcheck -x "${scripts[@]}"
fi
clang-format --dry-run --Werror "${files[@]}"

if [[ ! -f $build/compile_commands.json ]]; then
  echo "lint: no $build/compile_commands.json; run cmake --preset debug first" >&2
  exit 2
fi
# Headers are checked through the sources that include them.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.cpp$' || true)
# Sources of parts that this build leaves out have no compile command.
mapfile -t compiled < <(for source in "${sources[@]}"; do
  if grep -qF "/$source\"" "$build/compile_commands.json"; then echo "$source"; fi
done)
printf '%s\0' "${compiled[@]}" | xargs -0 -n 1 -P "${COPPICE_JOBS:-2}" clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p "$build"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need, builds everything in Release, runs all tests, and tells at the end what
# they left out, and why.
# Arguments go to ctest, for example: tests/run.sh -R forestcoll
# COPPICE_JOBS sets how many compilers run at once, and one test more: the longest tests mostly wait for sessions and
# processes. COPPICE_NO_INSTALL=1 installs nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=resources/scripts/packages.sh
source resources/scripts/packages.sh

ensure_packages "${COPPICE_BUILD_PACKAGES[@]}" "${COPPICE_DESIGNER_PACKAGES[@]}" "${COPPICE_EXECUTOR_PACKAGES[@]}" \
  "${COPPICE_PYTHON_PACKAGES[@]}" "${COPPICE_TEST_PACKAGES[@]}"
jobs=${COPPICE_JOBS:-2}
cmake --preset release
cmake --build --preset release --parallel "$jobs"
mkdir -p build/release/Testing/Temporary
report=build/release/Testing/ctest.txt
status=0
ctest --preset release --output-on-failure --parallel "$((jobs + 1))" "$@" | tee "$report" || status=$?
echo
if [ -e build/release/Testing/Temporary/LastTest.log ]; then
  tests/skipped.sh build/release/Testing/Temporary/LastTest.log
fi
sed -n '/% tests passed/,$p' "$report"
exit "$status"

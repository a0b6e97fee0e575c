#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a run of the tests has left out, and why. usage: tests/skipped.sh BUILD/Testing/Temporary/LastTest.log
set -euo pipefail
awk '
  function skip(reason) {
    sub(/^skipped: /, "", reason)
    if (!(reason in count)) { order[++reasons] = reason }
    ++count[reason]
    ++total
    if (!((reason, test) in seen)) {
      seen[reason, test] = 1
      tests[reason] = tests[reason] (tests[reason] == "" ? "" : ", ") test
    }
  }
  / Testing: / { test = $NF }
  # A slot of Qt Test: "SKIP   : Class::slot(row) reason". A row may hold brackets.
  /^SKIP   : / {
    sub(/^SKIP   : [^(]*\(/, "")
    depth = 1
    for (i = 1; i <= length($0) && depth > 0; ++i) {
      c = substr($0, i, 1)
      depth += c == "(" ? 1 : c == ")" ? -1 : 0
    }
    skip(substr($0, i + 1))
  }
  # A script that needs what is not there.
  /^skipped: / { skip($0) }
  END {
    if (total == 0) { print "No test was skipped." }
    else { printf "Skipped: %d %s.\n", total, total == 1 ? "check" : "checks" }
    for (i = 1; i <= reasons; ++i) { printf "  %4d  %s (%s)\n", count[order[i]], order[i], tests[order[i]] }
  }' "$1"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The rows of Table 2 of TACCL (Shah et al., NSDI 2023): makespan, bound and seconds of the search, beside the seconds
# that the paper states for its synthesis with Gurobi. Times are in the unit of the topology file.
# Usage: taccl_table2.sh [COPPICE_CLI [SECONDS_FOR_EACH_ROW]]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)/taccl
cli=${1:-coppice-cli}
seconds=${2:-20}

# field KEY: the value of a key of the JSON object on standard input, which is a string or a number.
field() {
  sed -E "s/.*\"$1\": ?\"?([^,\"}]*)\"?[,}].*/\1/"
}

row() {
  local name=$1 collective=$2 sketch=$3 topology=$4 type=$5 paper=$6 answer
  answer=$("$cli" synthesize --method taccl --sketch "$here/sketch-$sketch.json" \
    --topology "$here/topology-$topology.json" --type "$type" -c "$collective" --time "$seconds" --json)
  printf '%-12s %-10s %10s %10s %6s %9.2f %9.2f %9s\n' "$name" "$collective" "$(field makespan <<<"$answer")" \
    "$(field bound <<<"$answer")" "$(field connections <<<"$answer")" "$(field seconds_to_makespan <<<"$answer")" \
    "$(field seconds <<<"$answer")" "$paper"
}

printf '%-12s %-10s %10s %10s %6s %9s %9s %9s\n' sketch collective makespan bound links "found s" "total s" "paper s"
row dgx2-sk-1 allgather dgx2-pairs-n2 dgx2-1mb dgx2 35.8
row dgx2-sk-2 allgather dgx2-direct-n2 dgx2-1kb dgx2 11.3
row ndv2-sk-1 allgather ndv2-relay-n2 ndv2-1mb ndv2 2.6
row dgx2-sk-2 alltoall dgx2-direct-n2 dgx2-1kb dgx2 92.5
row ndv2-sk-1 alltoall ndv2-relay-n2 ndv2-1mb ndv2 1809.8
row ndv2-sk-2 alltoall ndv2-full-n2 ndv2-1kb ndv2 8.4
row dgx2-sk-1 allreduce dgx2-pairs-n2 dgx2-1mb dgx2 6.1
row dgx2-sk-2 allreduce dgx2-direct-n2 dgx2-1kb dgx2 127.8
row ndv2-sk-1 allreduce ndv2-relay-n2 ndv2-1mb ndv2 0.3
row "8 x DGX-2" allgather dgx2-pairs-n8 dgx2-1mb dgx2 "11 h"

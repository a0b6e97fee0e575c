#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The rows of Table 2 of TACCL (Shah et al., NSDI 2023), each with both engines in one run: makespan, bound and seconds
# of the search; makespan and seconds of the paper's three stages with the solver CBC, where it is installed, and what
# CBC says of the routing and of the scheduling program; and the seconds that the paper states for its synthesis with
# Gurobi. Times are in the unit of the topology file. (o) marks an optimal answer, (t) the best in the time, (-) none:
# the stage's start is kept. The last lines name each row in which the search is slower than the paper or its schedule
# is longer than that of the stages; the exit code is then 1.
# Usage: taccl_table2.sh [COPPICE_CLI [SECONDS_FOR_EACH_SEARCH [SECONDS_FOR_EACH_RUN_OF_THE_STAGES [ROW…]]]]
# SECONDS_FOR_EACH_SEARCH: "paper" (the default) gives each search what the paper needed, at most 10 s; it ends earlier
# where it reaches the bound. ROW: a number from 1; all rows by default. 0 seconds for the stages leave them out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)/taccl
cli=${1:-coppice-cli}
seconds=${2:-paper}
stage_seconds=${3:-60}
shift $(($# < 3 ? $# : 3))
rows=" $* "
number=0
faults=''
if ! command -v cbc >/dev/null; then
  stage_seconds=0
fi

# field KEY: the value of a key of the JSON object on standard input, which is a string or a number.
field() {
  sed -E "s/.*\"$1\": ?\"?([^,\"}]*)\"?[,}].*/\1/"
}

# How the solver ended for a stage, as a letter for each collective.
endings() {
  grep -o "\"stage\":\"$1\",\"status\":\"[a-z]*\"" | sed -E 's/.*:"optimal"/o/; s/.*:"feasible"/t/; s/.*:"undecided"/-/' |
    tr -d '\n'
}

# Whether a number or fraction is above another one.
isAbove() {
  awk -v a="$1" -v b="$2" 'BEGIN { split(a "/1", x, "/"); split(b "/1", y, "/"); exit !(x[1] * y[2] > y[1] * x[2]) }'
}

row() {
  local name=$1 collective=$2 sketch=$3 topology=$4 type=$5 paper=$6 answer stages='' question
  local limit=$seconds makespan total staged
  number=$((number + 1))
  if [[ $rows != "  " && $rows != *" $number "* ]]; then
    return
  fi
  question=("$cli" synthesize --method taccl --sketch "$here/sketch-$sketch.json"
    --topology "$here/topology-$topology.json" --type "$type" -c "$collective" --json)
  if [[ $seconds == paper ]]; then
    limit=$paper
    if [[ $paper == *h ]] || isAbove "$paper" 10; then
      limit=10
    fi
  fi
  answer=$("${question[@]}" --time "$limit")
  makespan=$(field makespan <<<"$answer")
  total=$(field seconds <<<"$answer")
  # The clock is looked at between two schedules.
  if [[ $paper != *h ]] && isAbove "$total" "$(awk -v p="$paper" 'BEGIN { print p + 0.02 }')"; then
    faults+="$name $collective: $total s, the paper needed $paper s"$'\n'
  fi
  if [[ $stage_seconds != 0 ]]; then
    stages=$("${question[@]}" --engine milp --time "$stage_seconds" || true)
  fi
  printf '%-10s %-10s %8s %8s %5s %8.2f %8.2f' "$name" "$collective" "$makespan" \
    "$(field bound <<<"$answer")" "$(field connections <<<"$answer")" "$(field seconds_to_makespan <<<"$answer")" \
    "$total"
  if [[ $stages == *'"stages"'* ]]; then
    stages=$(tr -d ' \n' <<<"$stages")
    staged=$(field makespan <<<"${stages%%\"messages\"*}}")
    if isAbove "$makespan" "$staged"; then
      faults+="$name $collective: $makespan, the three stages reach $staged"$'\n'
    fi
    printf ' %9s %5s %8.2f %5s' "$staged" "$(field connections <<<"$stages")" \
      "$(sed -E 's/.*"seconds":([0-9.e+-]*),"seconds_to_makespan".*/\1/' <<<"$stages")" \
      "$(endings routing <<<"$stages")/$(endings scheduling <<<"$stages")"
  else
    printf ' %9s %5s %8s %5s' - - - -
  fi
  printf ' %8s\n' "$paper"
}

printf '%-10s %-10s %8s %8s %5s %8s %8s %9s %5s %8s %5s %8s\n' sketch collective search bound links "found s" "total s" \
  stages links seconds CBC "paper s"
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
if [[ -n $faults ]]; then
  printf '%s' "$faults"
  exit 1
fi
echo "No row is slower than the paper, and none is longer than the three stages where these ran."

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Searches the Cayley digraphs and computes the generalized Kautz graphs of the topology finder's catalogue again, and
# writes resources/finder/catalogue.txt. Takes about half an hour of one core.
#   resources/scripts/finder_catalogue.sh BUILD_FOLDER [FOLDER_FOR_TABLES]
# Tables that the second folder has already are kept.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?name the build folder}
tables=${2:-$(mktemp -d)}
last=2000
tool=$build/bin/coppice-finder-catalogue
[[ -x $tool ]] || cmake --build "$build" --target coppice-finder-catalogue

table() { # FILE ARGUMENTS
  local file=$tables/$1
  shift
  [[ -s $file ]] || { "$tool" "$@" > "$file.part" && mv "$file.part" "$file"; }
}
table d4.txt draws 4 one-way $last 1200
table d2.txt draws 2 one-way $last 2000
table d8.txt draws 8 one-way $last 400
table d16.txt draws 16 one-way $last 150
for d in 2 4 8 16; do
  table k$d.txt kautz $d $last
done
table u4.txt draws 4 duplex $last 800
table u8.txt draws 8 duplex $last 300
table u16.txt draws 16 duplex $last 120

lines() { # the lines of a table, several to a line
  tr '\n' ' ' < "$1" | fold -s -w 110 | sed 's/ *$//; $a\'
}
{
  echo '# SPDX-License-Identifier: Apache-2.0'
  echo '# Written by resources/scripts/finder_catalogue.sh. After "draws DEGREE KIND": nodes:seed,seed and so on.'
  echo '# After "kautz DEGREE": nodes:steps:sum of the loads of all steps.'
  echo "nodes $last"
  for d in 2 4 8 16; do
    echo "draws $d one-way"
    lines "$tables/d$d.txt"
  done
  for d in 4 8 16; do
    echo "draws $d duplex"
    lines "$tables/u$d.txt"
  done
  for d in 2 4 8 16; do
    echo "kautz $d"
    lines "$tables/k$d.txt"
  done
} > "$root/resources/finder/catalogue.txt"

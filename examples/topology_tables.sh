#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Redoes Tables 3.4, 3.5, A.1 and 3.6 of the dissertation (Chapter 3): its rows, what its own base graphs and formulas
# give, what the finder gives, and what is wrong in the source.
#   examples/topology_tables.sh [COPPICE_CLI]
set -euo pipefail
cli=${1:-coppice-cli}

front() { # TITLE ARGUMENTS: the rows of a front, without the line that repeats the question
  printf '  %s\n' "$1"
  shift
  "$cli" find-topology "$@" | sed -n 's/^  \([0-9].*\)/    \1/p'
}
both() { # NODES
  front 'base graphs and formulas of the dissertation:' -n "$1" -d 4 --paper
  front 'all base graphs, exact values:' -n "$1" -d 4
}
rows() { # the rows of the source, one a line on standard input
  printf '  as printed:\n'
  sed 's/^/    /'
}

echo '## Table 3.4: N = 1024, d = 4; allreduce with 10 us a step, 1 MiB, 100 Gb/s'
rows <<'END'
5  1.332  323.5 us  Pi_{4,1024}
6  1.020  291.0 us  L^3(C(16,{3,4}))
8  1.004  328.4 us  L^2(Diamond^2)
11 1.000  387.8 us  L(DBJMod(2,4)^2)
20 0.999  567.6 us  (UniRing(1,4) x UniRing(1,8))^2
bound: 5 steps, 0.999, 267.6 us
END
for mode in --paper ''; do
  # shellcheck disable=SC2086 # no word at all where the mode is empty
  "$cli" find-topology -n 1024 -d 4 --alpha 10 --bandwidth 100Gb/s --size 1MiB $mode | sed 's/^/  /'
done

echo
echo '## Table 3.5: N = 5 .. 12, d = 4; allreduce steps, twice those of allgather; all bandwidth-optimal'
rows <<'END'
5: 2 K_5     6: 4 K_3*2     7: 4 C(7,{2,3})         8: 4 K_{4,4}
9: 4 H(2,3)  10: 4 BiRing(2,5)*2  11: 4 C(11,{2,3})  12: 4 C(12,{2,3})
END
echo '  found, allgather steps, duplex links only as on its testbed:'
"$cli" find-topology --all-n 5..12 -d 4 --duplex | sed 's/^/    /'
echo '  BiRing(2,5)*2 has 2 steps as printed; Theorem 11 says 3:'
"$cli" expand preset:ring,gpus=5 --degree 2 -o - 2>&1 > /dev/null | sed -n 's/^  allgather */    /p'

echo
echo '## Table A.1: d = 4'
echo '### N = 32'
rows <<'END'
3 1.000 L(K_{4,4})
4 0.969 DistReg(4,32)
END
both 32
echo '### N = 64'
rows <<'END'
3 1.312 Pi_{4,64}
4 1.000 L(DBJMod(4,2))
6 0.984 Diamond^2
END
both 64
echo '### N = 128'
rows <<'END'
4  1.031 L^2(K_{4,4})
5  1.000 L(DistReg(4,32))
10 0.992 BiRing(2,8) x UniRing(1,4)^2
END
echo '  erratum: its own C(128,{8,9}) has 8 steps at 0.992, so the last row is not on the front'
both 128
echo '### N = 256'
rows <<'END'
4  1.328 DBJ(4,4)
5  1.016 L^2(DBJMod(4,2))
7  1.000 L(Diamond^2)
10 0.996 DBJMod(2,4)^2
END
both 256
echo '### N = 512'
rows <<'END'
5  1.039 L^3(K_{4,4})
6  1.008 L^2(DistReg(4,32))
11 1.000 L(BiRing(1,4)^3 x UniRing(1,2))
16 0.998 UniRing(1,4)^3 x UniRing(1,8)
END
echo '  errata: its own L(C(128,{8,9})) has 9 steps at 1.000; "BiRing(1,4)" is UniRing(1,4)'
both 512
echo '### N = 1024: see Table 3.4'
echo '  erratum: the all-to-all rate printed for L^3(C(16,{3,4})) is above links / sum of distances, which no rate exceeds'

echo
echo '## Table 3.6: seconds to generate an allgather; SCCL and TACCL as printed (one chunk; > 10000 and n/a: none found)'
echo '  topology            SCCL      TACCL, symmetric  BFB, printed  here'
seconds() { # FABRIC
  if ! "$cli" bfb --help > /dev/null 2>&1; then
    echo 'n/a'
    return
  fi
  local start end
  start=$(date +%s%N)
  "$cli" bfb "$1" -c allgather --json > /dev/null
  end=$(date +%s%N)
  awk -v ns=$((end - start)) 'BEGIN { printf "%.2f\n", ns / 1e9 }'
}
row() { # TITLE SCCL TACCL BFB FABRIC
  printf '  %-19s %-9s %-17s %-13s %s\n' "$1" "$2" "$3" "$4" "$(seconds "$5")"
}
row 'hypercube 4' 0.59 0.62 '< 0.01' preset:hypercube,dimension=2
row 'hypercube 8' 0.86 7.97 '< 0.01' preset:hypercube,dimension=3
row 'hypercube 16' 21.4 1801 '< 0.01' preset:hypercube,dimension=4
row 'hypercube 32' '> 10000' 'n/a' 0.03 preset:hypercube,dimension=5
row 'hypercube 64' '> 10000' 'n/a' 0.17 preset:hypercube,dimension=6
row 'hypercube 1024' '> 10000' 'n/a' 52.7 preset:hypercube,dimension=10
row 'torus 3x3' 1.00 88.6 '< 0.01' preset:torus,dims=3x3
row 'torus 4x4' 17.5 1801 '< 0.01' preset:torus,dims=4x4
row 'torus 5x5' 3286 1802 0.01 preset:torus,dims=5x5
row 'torus 6x6' '> 10000' 'n/a' 0.03 preset:torus,dims=6x6
row 'torus 50x50' '> 10000' 'n/a' 61.1 preset:torus,dims=50x50
echo '  times of this program include start, verification and printing'

echo
echo '## Statements that do not hold'
echo '  Conjecture 1 (all circulants are bandwidth-optimal): C(15,{1,4,5}) has T_B 1, not 14/15'
echo '  Theorem 10 (T_B of a line graph is T_B + 1/N): L(UniRing(1,4)^2) stays optimal:'
"$cli" expand preset:ring,gpus=4,direction=one-way --power 2 -o - 2> /dev/null |
  "$cli" expand - --line 1 -o - 2>&1 > /dev/null | sed -n 's/^  allgather */    /p'
echo '  Theorem 13 needs simple factors: UniRing(2,4) x K_5 has T_B 1, not 19/20'

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One run over several hosts, started from another one: coppice-cli run --hosts, deploy, mpirun between the
# hosts, leaving and coming back, the launch bundle; with "ends", a killed rank, stopping, a host that is lost; with
# "shared", first launches on hosts with one home folder; with "slurm", runs through a real Slurm over the same hosts.
# usage: several_hosts.sh FOLDER-OF-PROGRAMS SCHEDULE.xml hosts|ends|shared|slurm
set -u
here=$(cd "$(dirname "$0")" && pwd)
programs=$1
schedule=$2
part=$3

skip() {
  echo "skipped: needs $1"
  exit 0
}
need() {
  PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null || skip "$1 (Debian: $2)"
}

if [ "${COPPICE_HOSTS_INSIDE:-}" != yes ]; then
  [ "$(id -u)" = 0 ] || skip "root and network namespaces"
  need unshare util-linux
  need nsenter util-linux
  need setpriv util-linux
  need ip iproute2
  need ss iproute2
  need sshd openssh-server
  need ssh openssh-client
  need mpirun openmpi-bin
  if [ "$part" = slurm ]; then
    need slurmctld slurmctld
    need slurmd slurmd
    need srun slurm-client
    need munged munge
    [ -d /etc/slurm ] || skip "slurmctld (Debian: slurmctld)"
  fi
  [ -e "$programs/libcoppice-exec-mpi.so" ] || skip "the backend for MPI (Debian: libopenmpi-dev)"
  unshare --net --mount --pid --fork --mount-proc --kill-child=KILL sh -c \
    'mount -t tmpfs none /mnt && ip link add b0 type bridge && ip link add v0 type veth peer name v1' 2>/dev/null ||
    skip "root and network namespaces"
  export COPPICE_HOSTS_INSIDE=yes
  exec unshare --net --mount --pid --fork --mount-proc --propagation private --kill-child=KILL bash "$0" "$@"
fi

# shellcheck source=hosts.sh
. "$here/hosts.sh"
# shellcheck source=slurm.sh
. "$here/slurm.sh"
export PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "FAIL: $1"
  echo "--- it said:"
  tail -n 40 "${2:-/dev/null}"
  echo "--- processes:"
  ps -eo user,pid,etimes,args | cut -c 1-200 | grep -v ' ps -eo\|sshd:\|cut -c'
  exit 1
}
# expect FILE TEXT: the file has this line (grep -E).
expect() { grep -qE -- "$2" "$1" || fail "no line like: $2" "$1"; }
# soon COMMAND…: it comes true, within far more time than it takes.
soon() {
  local limit=$(($(date +%s) + 240))
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt $limit ] || return 1
    sleep 0.2
  done
}
noRank() { ! pgrep -f -- '--backend mpi.*--launched' >/dev/null && ! pgrep -x 'mpirun|orted|srun' >/dev/null; }
# More than a start takes: 0.6 s of processor time each.
fourWork() {
  local pid ranks=0
  for pid in $(pgrep -f -- '--backend mpi.*--launched'); do
    awk '{ exit $14 + $15 < 60 }' "/proc/$pid/stat" && ranks=$((ranks + 1))
  done
  [ $ranks -ge 4 ]
}
clean() { [ -z "$(on nodeA ls .cache/coppice/runs)" ] && [ -z "$(on nodeB ls .cache/coppice/runs)" ]; }
# What went wrong stays on the hosts, for a closer look.
forget() {
  local host
  for host in nodeA nodeB; do on $host sh -c 'rm -rf .cache/coppice/runs/*'; done
}
recorded() { on nodeA sh -c 'cat .cache/coppice/runs/*/records.jsonl' | wc -c; }
ended() { ! kill -0 "$1" 2>/dev/null; }
run() { on desk "$hosts_place/bin/coppice-cli" run "$hosts_place/schedule.xml" "$@"; }
# Until ranks exchange data; the run goes on in the background with its output in $out.
endless() {
  run -b 64K -e 64K -n 1000000 --json "$@" >"$out" 2>&1 &
  job=$!
  soon fourWork || fail "the run does not begin" "$out"
}

case $part in shared | slurm) hosts_share=yes ;; esac
hosts_up desk nodeA nodeB || fail "the hosts do not come up"
mkdir $hosts_place/bin
cp "$programs/coppice-cli" "$programs/coppice-exec" "$programs/libcoppice-exec-mpi.so" $hosts_place/bin/
cp "$schedule" $hosts_place/schedule.xml
chmod 644 $hosts_place/schedule.xml
out=$hosts_place/out

overHosts() {
  echo "* from nothing: copied to each, started on the first, data right"
  run --hosts a:2,b:2 -b 64K -e 256K -f 4 >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" 'copying coppice-exec to b'
  expect "$out" 'backend: mpi, 4 processes on 2 hosts'
  expect "$out" '262144 .* 0$'
  expect "$out" 'Out of bounds values : 0 OK'
  clean || fail "a folder of the run stays" "$out"
  soon noRank || fail "something still runs" "$out"

  echo "* shares that are uneven, and one that is left open"
  run --hosts a:1,b -b 4K -e 4K -n 5 >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" '4 processes on 2 hosts'

  echo "* what cannot work is said, with its fix"
  run --hosts a:1,b:1 -b 4K -e 4K >"$out" 2>&1 && fail "too few ranks are taken" "$out"
  expect "$out" 'the hosts can run 2 ranks, the schedule has 4'
  run --hosts a:2,10.77.0.2:2 >"$out" 2>&1 && fail "one machine is taken twice" "$out"
  expect "$out" '10.77.0.2 and a are the same machine, "nodeA"'
  run --hosts a:2,nobody:2 >"$out" 2>&1 && fail "an unknown host is taken" "$out"
  expect "$out" 'no host is called nobody'
  on nodeA mv .ssh/id_ed25519 .ssh/away
  run --hosts a:2,b:2 >"$out" 2>&1 && fail "it runs without a way between the hosts" "$out"
  expect "$out" 'a does not reach b as "nodeB": the login is refused; let a key of a log in there'
  on nodeA mv .ssh/away .ssh/id_ed25519
  on nodeA mv .ssh/known_hosts .ssh/away
  run --hosts a:2,b:2 >"$out" 2>&1 && fail "it runs with an unknown host key" "$out"
  expect "$out" 'a does not reach b as "nodeB": its host key is not known there'
  on nodeA mv .ssh/away .ssh/known_hosts
  forget

  echo "* left going, the network here fails, joined again"
  run --hosts a:2,b:2 -b 64K -e 128K -n 300 --detach >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" 'run --hosts a:2,b:2 --attach cli-'
  local id before
  id=$(sed -n 's/.*--attach //p' "$out")
  ip link set to-desk down
  before=$(recorded)
  goesOn() { [ "$(recorded)" -gt "$before" ] || on nodeA sh -c 'ls .cache/coppice/runs/*/ended'; }
  soon goesOn || fail "the run stands still without the network here" "$out"
  ip link set to-desk up
  on desk "$hosts_place/bin/coppice-cli" run --hosts a:2,b:2 --attach "$id" >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" '131072 .* 0$'
  clean || fail "a folder of the run stays" "$out"

  echo "* the launch bundle, copied to the other host"
  run --bundle "$hosts_place/desk/bundle" -b 64K -e 64K >"$out" 2>&1 && fail "a folder of root is written" "$out"
  run --bundle /tmp/bundle -b 64K -e 64K >"$out" 2>&1 || fail "status $?" "$out"
  on desk scp -qr /tmp/bundle "a:it's a bundle"
  on nodeA sh -c "COPY=1 HOSTS=nodeA:2,nodeB:2 \"./it's a bundle/run-mpi.sh\"" >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" '4 processes on 2 hosts'
  expect "$out" 'Out of bounds values : 0 OK'
}

endsOverHosts() {
  echo "* a killed rank on the other host is named"
  endless --hosts a:2,b:2
  on nodeB pkill -KILL -o -f -- '--backend mpi --launched'
  soon ended $job || fail "the run goes on without a rank" "$out"
  expect "$out" '"code":"rank_lost"|rank 2 \(process [0-9]+ on nodeB\) was ended by signal 9'
  expect "$out" 'rank 2 \(process [0-9]+ on nodeB\)'
  soon noRank || fail "something still runs" "$out"
  forget

  echo "* Ctrl+C ends all ranks on all hosts"
  endless --hosts a:2,b:2
  pkill -INT -x coppice-cli
  soon ended $job || fail "it does not stop" "$out"
  soon noRank || fail "something still runs" "$out"
  soon clean || fail "a folder of the run stays" "$out"

  echo "* a host whose network dies is named, and its ranks end too"
  endless --hosts a:2,b:2
  ip link set to-nodeB down
  soon ended $job || fail "the run goes on without a host" "$out"
  # The other ranks, or mpirun, whichever notices it first.
  expect "$out" 'rank [23] \(on nodeB\) does not answer|nodeB does not answer: mpirun has lost its daemon there'
  soon noRank || fail "something still runs" "$out"
}

overOneHome() {
  echo "* two first launches at the same time, on two hosts that share a home folder"
  for attempt in 1 2 3; do
    on nodeA rm -rf .cache
    run --host a -b 64K -e 64K --backend threads >"$out" 2>&1 &
    local first=$! second
    run --host b -b 64K -e 64K --backend threads >"$out-b" 2>&1 &
    second=$!
    wait $first || fail "status $? on a in attempt $attempt" "$out"
    wait $second || fail "status $? on b in attempt $attempt" "$out-b"
    expect "$out" 'Out of bounds values : 0 OK'
    expect "$out-b" 'Out of bounds values : 0 OK'
    [ -z "$(on nodeA find .cache/coppice -name '*.part')" ] || fail "an unfinished copy stays" "$out"
    clean || fail "a folder of the run stays" "$out"
  done
  echo "* and the next launch copies nothing"
  run --host b -b 64K -e 64K --backend threads >"$out" 2>&1 || fail "status $?" "$out"
  [ "$(grep -c 'copying' "$out")" = 0 ] || fail "it copies again" "$out"
  echo "* a folder that belongs to another user is refused"
  on_root nodeA chown root "${hosts_home[nodeA]}/.cache/coppice"
  run --host a -b 64K -e 64K >"$out" 2>&1 && fail "a folder of root is used" "$out"
  expect "$out" '~/.cache/coppice on a belongs to another user, "root"'
}

overSlurm() {
  local place=$hosts_place/share
  slurm_up nodeA nodeB || fail "Slurm does not start"
  echo "* srun over both hosts"
  run --bundle /tmp/bundle -b 64K -e 64K >"$out" 2>&1 || fail "status $?" "$out"
  mkdir "$place" && on_root desk cp -r /tmp/bundle "$place/" && chown -R $hosts_uid:$hosts_uid "$place"
  slurmRun() { on nodeA sh -c "cd $place/bundle && ./coppice-exec schedule.xml --launch srun -b 64K -e 64K --json $*"; }
  slurmRun >"$out" 2>&1 </dev/null || fail "status $?" "$out"
  expect "$out" 'mpi, 4 processes on 2 hosts'
  expect "$out" '"wrong":0'
  echo "* run.sbatch"
  on nodeA sh -c "cd $place/bundle && sbatch --wait run.sbatch && cat coppice-*.out" >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" 'Out of bounds values : 0 OK'
  echo "* a partition that is not there"
  slurmRun --partition nosuch >"$out" 2>&1 </dev/null && fail "it runs" "$out"
  expect "$out" 'Invalid partition name'
  echo "* a job that waits says so, and is taken back"
  slurmRun --partition last >"$out" 2>&1 </dev/null &
  job=$!
  soon grep -q '"state":"queued","detail":"Slurm job [0-9]*: ' "$out" || fail "no word of the queue" "$out"
  pkill -TERM -f -- '^./coppice-exec schedule.xml --launch srun'
  soon ended $job || fail "it does not stop" "$out"
  soon sh -c "[ -z \"\$(nsenter -t ${hosts_pid[nodeA]} -a -- squeue --noheader)\" ]" || fail "a job is left" "$out"
  echo "* a killed rank is named"
  slurmRun -n 1000000 >"$out" 2>&1 </dev/null &
  job=$!
  soon grep -q '"stage":"time"' "$out" || fail "the run does not begin" "$out"
  on nodeB pkill -KILL -o -f -- '--backend mpi --launched'
  soon ended $job || fail "the run goes on without a rank" "$out"
  expect "$out" 'rank 2 \(on nodeB\) was ended: Killed"'
  echo "* over ssh, through the Slurm of the machine at the other end; over both hosts, which share a home folder"
  run --host a --launch srun --partition main -b 64K -e 64K >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" '4 processes on 2 hosts'
  run --hosts a,b -b 64K -e 64K >"$out" 2>&1 || fail "status $?" "$out"
  expect "$out" '4 processes on 2 hosts'
  [ "$(grep -c 'copying' "$out")" = 0 ] || fail "it copies again" "$out"
  clean || fail "a folder of the run stays" "$out"
}

case $part in
  hosts) overHosts ;;
  ends) endsOverHosts ;;
  shared) overOneHome ;;
  slurm) overSlurm ;;
  *) fail "unknown part $part" ;;
esac
echo "all as it should be"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For a machine with an NVIDIA GPU: builds the CUDA backend and tries everything that cannot be tried without one.
#   tests/executor/cuda/on_gpu.sh [BUILD_DIR]
# All collectives with 8 and 16 virtual ranks, in place and out of place; every data type with every reduction; execution
# plans of MSCCL++ in Simple and LL, and by NVSwitches; the test program of the plug-in; several processes on one GPU (memory mapped through CUDA IPC, through host memory that they
# share, through MPI) and, where there are more GPUs, one process for each; compute-sanitizer's memcheck, racecheck and
# synccheck at small sizes; allgather of 256 MB against the device's own copies, measured in the same process. Ends with
# a summary; exit 0 if nothing failed.
# COPPICE_JOBS sets how many compilers run at once.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit
build=${1:-build/gpu}
least_percent=60
work=$build/on_gpu
names=()
verdicts=()

note() {
  names+=("$1")
  verdicts+=("$2")
  printf '== %s: %s\n' "$1" "$2"
}
# attempt NAME COMMAND...: one line of the summary.
attempt() {
  local name=$1 log code
  shift
  log=$work/$(tr -c 'A-Za-z0-9\n' _ <<<"$name").log
  "$@" >"$log" 2>&1
  code=$?
  if ((code == 0)); then
    note "$name" ok
  else
    note "$name" "FAILED (exit $code), see $log"
    tail -n 5 "$log"
  fi
  return "$code"
}
# schedule NAME PRESET COLLECTIVE [OPTIONS...]
schedule() {
  local file=$work/$1.forest.json preset=$2 collective=$3
  shift 3
  "$build/bin/coppice-cli" generate "preset:$preset" -c "$collective" "$@" -o "$file" >/dev/null && echo "$file"
}
run() {
  "$build/bin/coppice-exec" run "$@" --backend cuda --virtual
}
# plan NAME SCHEDULE [OPTIONS...]: an execution plan of MSCCL++.
plan() {
  local file=$work/$1.plan.json schedule=$2
  shift 2
  "$build/bin/coppice-cli" export "$schedule" "$@" -o "$file" >/dev/null && echo "$file"
}
# team PATH FILE OPTIONS...: several processes; fails unless the run says that messages went that way. PATH: mapped,
# shared, network.
# shellcheck disable=SC2317 # called through attempt
team() {
  local path=$1 out words
  shift
  case $path in
  mapped) words="mapped memory of the other GPU" ;;
  shared)
    words="host memory that both processes share"
    local -x COPPICE_EXEC_NO_PEER=1
    ;;
  network)
    words="host memory of each process, and MPI"
    local -x COPPICE_EXEC_FORCE_NETWORK=1
    ;;
  esac
  out=$(run "$@" --json) || {
    echo "$out"
    return 1
  }
  echo "$out"
  grep -q "\"between processes\":\"$words for" <<<"$out" || {
    echo "the messages did not go through $words"
    return 1
  }
}

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L; then
  echo "on_gpu: skipped: needs a GPU and its driver" >&2
  exit 2
fi
mkdir -p "$work"
if ! cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$work/configure.log" 2>&1 ||
  ! cmake --build "$build" --parallel "${COPPICE_JOBS:-4}" --target coppice-cli coppice-exec coppice-exec-cuda \
    tst_executor_cuda tst_executor_cuda_plans tst_executor_cuda_presets tst_executor_gpu >"$work/build.log" 2>&1; then
  echo "on_gpu: the build failed; see $work/configure.log and $work/build.log" >&2
  exit 1
fi
if ! "$build/bin/coppice-exec" self-test; then
  echo "on_gpu: the self-test failed" >&2
  exit 1
fi

attempt "interpreter on host threads" "$build/tests/executor/cuda/tst_executor_cuda"
attempt "presets on host threads" "$build/tests/executor/cuda/tst_executor_cuda_presets"
attempt "execution plans on host threads" "$build/tests/executor/cuda/tst_executor_cuda_plans"
attempt "plug-in on the GPU" "$build/tests/executor/cuda/tst_executor_gpu"

for collective in allgather reduce_scatter allreduce broadcast reduce; do
  root=()
  if [[ $collective == broadcast || $collective == reduce ]]; then
    root=(--root 3)
  fi
  eight=$(schedule "$collective-8" dgx-h100,boxes=1 "$collective" "${root[@]}")
  sixteen=$(schedule "$collective-16" dgx-a100,boxes=2 "$collective" "${root[@]}")
  for file in "$eight" "$sixteen"; do
    ranks=$([[ $file == "$eight" ]] && echo 8 || echo 16)
    attempt "$collective, $ranks virtual ranks, 1 KB to 256 MB" run "$file" -b 1K -e 256M -f 4 -n 5 -w 1
  done
  attempt "$collective, every type and reduction" run "$eight" -b 1000 -e 1000000 -f 10 -n 0 --type all --op all
  for protocol in Simple LL; do
    for file in "$eight" "$sixteen"; do
      ranks=$([[ $file == "$eight" ]] && echo 8 || echo 16)
      last=$([[ $protocol == LL ]] && echo 1M || echo 256M)
      if made=$(plan "$collective-$ranks-$protocol" "$file" --target mscclpp --protocol "$protocol"); then
        attempt "$collective, $ranks virtual ranks, execution plan in $protocol" run "$made" -b 1K -e "$last" -f 8 -n 5 -w 1
      else
        note "$collective, $ranks virtual ranks, execution plan in $protocol" "FAILED: no plan"
      fi
    done
  done
done
if file=$(schedule nvls-8 dgx-h100,boxes=1,nvls=true allreduce) &&
  made=$(plan nvls-8 "$file" --target mscclpp-nvls); then
  attempt "allreduce, execution plan by NVSwitches" run "$made" -b 1K -e 64M -f 8 -n 5 -w 1
else
  note "allreduce, execution plan by NVSwitches" "FAILED: no plan"
fi

# Several processes. On one GPU they take turns, so sizes are small: correctness, not bandwidth.
plugin=$build/bin/libcoppice-exec-cuda-mpi.so
if ! command -v mpirun >/dev/null || ! cmake --build "$build" --parallel "${COPPICE_JOBS:-4}" \
  --target coppice-exec-cuda-mpi mpi_driver tst_executor_team tst_executor_team_ends >"$work/build-mpi.log" 2>&1; then
  note "several processes" "skipped: needs mpirun and libopenmpi-dev; see $work/build-mpi.log"
else
  attempt "several processes on host threads" "$build/tests/executor/cuda/tst_executor_team"
  attempt "several processes that end early" "$build/tests/executor/cuda/tst_executor_team_ends"
  if ((EUID == 0)); then
    echo "on_gpu: mpirun is allowed to run as root"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  small=(-b 1000 -e 1000000 -f 10 -n 2 -w 1 --stall 120)
  for collective in allgather reduce_scatter allreduce broadcast reduce; do
    file=$work/$collective-8.forest.json
    for path in mapped shared network; do
      attempt "$collective, 2 processes, $path" team "$path" "$file" "${small[@]}" --processes 2
    done
  done
  attempt "allreduce, 3 processes, every type and reduction" team mapped "$work/allreduce-8.forest.json" \
    -b 1000 -e 100000 -f 100 -n 0 --type all --op all --processes 3 --stall 120
  attempt "traced, 2 processes" team mapped "$work/allgather-8.forest.json" -b 1M -e 1M -n 2 --trace --processes 2
  attempt "schedules of many kinds, 2 processes" mpirun -n 2 --oversubscribe \
    "$build/tests/executor/mpi/mpi_driver" "$plugin" forward 8
  gpus=$(nvidia-smi -L | wc -l)
  if ((gpus >= 2)); then
    for each in allgather allreduce; do
      if file=$(schedule "$each-gpus" "complete,gpus=$gpus" "$each"); then
        attempt "$each, a process for each of $gpus GPUs" "$build/bin/coppice-exec" run "$file" --backend cuda \
          --processes "$gpus" -b 1M -e 256M -f 4 -n 10
      fi
    done
  else
    note "a process for each GPU" "skipped: needs two GPUs"
  fi
fi

if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck; do
    for collective in allgather allreduce; do
      attempt "$tool, $collective" compute-sanitizer --tool "$tool" --error-exitcode 99 \
        "$build/bin/coppice-exec" run "$work/$collective-8.forest.json" --backend cuda --virtual \
        -b 1000 -e 100000 -f 10 -n 0 --stall 120
      for protocol in Simple LL; do
        attempt "$tool, $collective, execution plan in $protocol" compute-sanitizer --tool "$tool" --error-exitcode 99 \
          "$build/bin/coppice-exec" run "$work/$collective-8-$protocol.plan.json" --backend cuda --virtual \
          -b 4K -e 64K -f 4 -n 0 --stall 120
      done
    done
  done
else
  note "compute-sanitizer" "skipped: needs compute-sanitizer"
fi

# Bytes read and written by the schedule for each byte that the device's copies read and write in the same time.
if run "$work/allgather-8.forest.json" -b 256M -e 256M -n 20 -w 5 --json >"$work/bandwidth.jsonl"; then
  percent=$(sed -n 's/.*"roofline_percent":\([0-9.]*\).*/\1/p' "$work/bandwidth.jsonl" | sort -g | tail -n 1)
  memory=$(sed -n 's/.*"memory_GBps":\([0-9.]*\).*/\1/p' "$work/bandwidth.jsonl" | tail -n 1)
  if awk -v p="${percent:-0}" -v least="$least_percent" 'BEGIN { exit !(p >= least) }'; then
    note "allgather, 256 MB" "ok: $percent % of the device's copies (${memory:-?} GB/s read plus written)"
  else
    note "allgather, 256 MB" "FAILED: ${percent:-no} % of the device's copies, $least_percent wanted"
  fi
else
  note "allgather, 256 MB" "FAILED, see $work/bandwidth.jsonl"
fi

printf '\n%s\n' "Summary, $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1):"
failed=0
for index in "${!names[@]}"; do
  printf '  %-50s %s\n' "${names[$index]}" "${verdicts[$index]}"
  if [[ ${verdicts[$index]} == FAILED* ]]; then
    failed=1
  fi
done
exit "$failed"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# A real Slurm over hosts of hosts.sh, with its own configuration, keys and state; it ends with them.

# slurm_up NAME…: the first is the controller. Partitions: main (all), last (the last host alone).
slurm_up() {
  local place=$hosts_place/slurm name nodes='' first=$1 last=${!#}
  mkdir -p "$place/state"
  (umask 077 && head -c 1024 /dev/urandom >"$place/munge.key")
  for name in "$@"; do nodes+="${nodes:+,}$name"; done
  cat >"$place/slurm.conf" <<CONFIG
ClusterName=test
SlurmctldHost=$first
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=/run/slurmd-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=3
NodeName=$nodes CPUs=2
PartitionName=main Nodes=$nodes Default=YES MaxTime=INFINITE State=UP
PartitionName=last Nodes=$last MaxTime=5 State=UP
CONFIG
  for name in "$@"; do
    on_root "$name" sh -c "mkdir -p /run/munge && mount -t tmpfs none /etc/slurm && cp $place/slurm.conf /etc/slurm/ &&
      munged --force --key-file=$place/munge.key --socket=/run/munge/munge.socket.2 --pid-file=/run/munge/pid \
        --log-file=$place/munged-$name.log --seed-file=/run/munge/seed" || return 1
  done
  on_root "$first" slurmctld || return 1
  for name in "$@"; do
    on_root "$name" slurmd -N "$name" || return 1
  done
  local waits=0
  until [ "$(on_root "$first" sinfo --noheader --partition=main --states=idle --format=%D 2>/dev/null)" = $# ]; do
    sleep 0.2
    waits=$((waits + 1))
    if [ $waits -gt 100 ]; then
      tail -n 5 "$place"/*.log >&2
      return 1
    fi
  done
}

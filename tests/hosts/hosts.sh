# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2094
# Several hosts on one machine: each a network, host name, process, memory and file name space of its own with an own
# sshd, joined by a bridge. Meant to be sourced inside `unshare --net --mount --pid --fork --mount-proc --kill-child`:
# with that shell everything ends, and nothing stays behind.
#
#   desk    where the user sits; its ssh configuration knows the others as a, b and c
#   nodeA…  10.77.0.2, 10.77.0.3, …; know each other by name; nodeB keeps its homes elsewhere

hosts_user=ann
hosts_uid=4711
hosts_place=/mnt
declare -A hosts_pid hosts_home

# What a host's first process does. $1 name, $2 address, $3 home
hosts_init() {
  hostname "$1"
  local place=$hosts_place/$1
  mount -t tmpfs none /tmp && chmod 1777 /tmp
  mount -t tmpfs none /dev/shm && chmod 1777 /dev/shm
  mount -t tmpfs none /run && mkdir /run/sshd
  mount -t tmpfs none "$(dirname "$3")" && mkdir -p "$3"
  if [ -d "$hosts_place/shared" ] && [ "$1" != desk ]; then
    mount --bind "$hosts_place/shared" "$3"
  fi
  cp -a "$place/home/." "$3"
  chown -R "$hosts_uid:$hosts_uid" "$3"
  chmod 700 "$3" "$3/.ssh"
  mount --bind "$place/passwd" /etc/passwd
  mount --bind "$place/hosts" /etc/hosts
  ip link set lo up
  while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
  ip address add "$2/24" dev eth0
  ip link set eth0 up
  : >"$place/up"
  # As the first process it would have to reap what others leave behind; a shell does.
  /usr/sbin/sshd -D -e -f "$place/sshd_config" 2>"$place/sshd.log"
}

# Makes the keys and files of one host. $1 name, $2 home
hosts_files() {
  local place=$hosts_place/$1
  mkdir -p "$place/home/.ssh"
  ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$place/host_key"
  { grep -v "^$hosts_user:" /etc/passwd; echo "$hosts_user:*:$hosts_uid:$hosts_uid::$2:/bin/sh"; } >"$place/passwd"
  cat >"$place/sshd_config" <<CONFIG
Port 22
HostKey $place/host_key
AuthorizedKeysFile .ssh/authorized_keys
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
MaxStartups 100
CONFIG
}

# hosts_up NAME…: starts them; the first is the desk. With $hosts_share=yes the others have one home folder together.
hosts_up() {
  mount -t tmpfs none $hosts_place
  chmod 755 $hosts_place
  ip link set lo up
  ip link add br0 type bridge
  ip link set br0 up
  local name number=0 first=$1 letters=abcdefgh
  if [ "${hosts_share:-no}" = yes ]; then mkdir $hosts_place/shared; fi
  ssh-keygen -q -t ed25519 -N '' -C desk -f $hosts_place/desk_key
  ssh-keygen -q -t ed25519 -N '' -C nodes -f $hosts_place/node_key
  for name in "$@"; do
    hosts_home[$name]=/home/$hosts_user
    if [ "$name" = nodeB ] && [ "${hosts_share:-no}" = no ]; then hosts_home[$name]=/srv/$hosts_user; fi
    hosts_files "$name" "${hosts_home[$name]}"
    number=$((number + 1))
    echo "10.77.0.$number $name $(cut -d ' ' -f 1-2 "$hosts_place/$name/host_key.pub")" >>$hosts_place/list
  done
  while read -r address name _; do
    local home=$hosts_place/$name/home
    if [ "$name" = "$first" ]; then
      echo "127.0.0.1 localhost" >"$hosts_place/$name/hosts"
      cp $hosts_place/desk_key "$home/.ssh/id_ed25519"
      awk -v first="$first" '$2 != first { print $1, $3, $4 }' $hosts_place/list >"$home/.ssh/known_hosts"
      local other=0 there at
      while read -r at there _; do
        if [ "$there" != "$first" ]; then
          printf 'Host %s\n  HostName %s\n' "${letters:$other:1}" "$at" >>"$home/.ssh/config"
          other=$((other + 1))
        fi
      done <$hosts_place/list
    else
      { echo "127.0.0.1 localhost"; awk '{ print $1, $2 }' $hosts_place/list; } >"$hosts_place/$name/hosts"
      cat $hosts_place/desk_key.pub $hosts_place/node_key.pub >"$home/.ssh/authorized_keys"
      cp $hosts_place/node_key "$home/.ssh/id_ed25519"
      awk '{ print $1 "," $2, $3, $4 }' $hosts_place/list >"$home/.ssh/known_hosts"
    fi
    chmod 600 "$home/.ssh/"*
    unshare --net --uts --mount --ipc --pid --fork --kill-child --mount-proc --propagation private \
      bash -c ". '${BASH_SOURCE[0]}'; hosts_init '$name' '$address' '${hosts_home[$name]}'" &
    local starter=$! child=
    while [ -z "$child" ]; do
      child=$(cat "/proc/$starter/task/$starter/children" 2>/dev/null)
      sleep 0.02
    done
    hosts_pid[$name]=${child% }
    ip link add "to-$name" type veth peer name eth0 netns "${hosts_pid[$name]}"
    ip link set "to-$name" master br0 up
  done <$hosts_place/list
  for name in "$@"; do
    local waits=0
    until [ -e "$hosts_place/$name/up" ] && nsenter -t "${hosts_pid[$name]}" -n sh -c 'ss -Hltn | grep -q ":22 "'; do
      sleep 0.05
      waits=$((waits + 1))
      if [ $waits -gt 200 ]; then
        echo "the host $name does not come up: $(tail -n 3 "$hosts_place/$name/sshd.log")" >&2
        return 1
      fi
    done
  done
}

# on NAME COMMAND…: as the user there, with nothing of our environment.
on() {
  local name=$1
  shift
  nsenter -t "${hosts_pid[$name]}" -a -- setpriv --reuid $hosts_uid --regid $hosts_uid --clear-groups -- \
    env -i HOME="${hosts_home[$name]}" USER=$hosts_user PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
    sh -c 'cd && exec "$@"' sh "$@"
}

# on_root NAME COMMAND…: as root there.
on_root() {
  local name=$1
  shift
  nsenter -t "${hosts_pid[$name]}" -a -- "$@"
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by examples/quickstart.sh and tests/run.sh: which Debian packages the build needs, and how to get them.

# For the core and the command line. libgraphviz-dev, libz3-dev and libcadical-dev are optional parts that a full build has;
# coinor-cbc is a solver that programs start when they are asked for it.
# shellcheck disable=SC2034 # read by the scripts that source this file
COPPICE_BUILD_PACKAGES=(g++ cmake ninja-build pkg-config nlohmann-json3-dev libpugixml-dev libyaml-cpp-dev
  libcli11-dev liblemon-dev libnauty2-dev libgraphviz-dev libz3-dev libcadical-dev coinor-cbc)
# For the designer, the program with a window. libwebp-dev is optional: animated films.
# shellcheck disable=SC2034
COPPICE_DESIGNER_PACKAGES=(qt6-base-dev qt6-svg-dev qt6-charts-dev libqt6opengl6-dev libwebp-dev)
# For the executor across processes and hosts.
# shellcheck disable=SC2034
COPPICE_EXECUTOR_PACKAGES=(libopenmpi-dev openmpi-bin)
# For the package of Python.
# shellcheck disable=SC2034
COPPICE_PYTHON_PACKAGES=(python3-dev pybind11-dev)
# For the tests and the benchmark program.
# shellcheck disable=SC2034
COPPICE_TEST_PACKAGES=(python3-networkx python3-numpy python3-setuptools python3-wheel qt6-base-dev libbenchmark-dev openssh-server openssh-client iproute2 procps dpkg-dev file)

# ensure_packages PACKAGE...: installs through apt what is not installed yet; asks nothing of apt when all are there.
# COPPICE_NO_INSTALL=1 skips the check, for systems that bring the libraries by other means.
ensure_packages() {
  local package missing=()
  if [[ ${COPPICE_NO_INSTALL:-0} == 1 ]]; then
    return 0
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is not a Debian-like system, so nothing can be installed here. Coppice needs what Debian calls:" >&2
    echo "  $*" >&2
    echo "Install these yourself, then run again with COPPICE_NO_INSTALL=1." >&2
    return 1
  fi
  for package in "$@"; do
    # shellcheck disable=SC2016 # the format is dpkg-query's
    if [[ " ${missing[*]} " != *" $package "* &&
      $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then
    return 0
  fi

  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "These packages are missing, and neither root nor sudo is available to install them:" >&2
      echo "  ${missing[*]}" >&2
      echo "As root, run: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
    # Without a terminal no password can be typed: fail at once instead of waiting.
    [[ -t 0 ]] || as_root=(sudo -n)
  fi
  echo "Installing ${missing[*]}" >&2
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}")
  # A machine that has never fetched package lists needs them first; one with old lists may need newer ones.
  if ! "${as_root[@]}" "${install[@]}" >&2; then
    if ! { "${as_root[@]}" apt-get update >&2 && "${as_root[@]}" "${install[@]}" >&2; }; then
      echo "The packages could not be installed; the reasons are above. They are those of Debian 12 (bookworm) and" >&2
      echo "are fetched once, which takes root's rights and a network, or a mirror in /etc/apt." >&2
      echo "As root, run: apt-get install ${missing[*]}" >&2
      echo "Where the libraries are there by other means, set COPPICE_NO_INSTALL=1." >&2
      return 1
    fi
  fi
}

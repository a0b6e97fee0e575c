// SPDX-License-Identifier: Apache-2.0
#include "mpi/lost_rank.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace coppice::executor {

std::string signalText(int signal) {
  const char* const name = ::strsignal(signal);
  return "signal " + std::to_string(signal) + (name == nullptr ? "" : std::string(" (") + name + ")");
}

std::string findLostRank(const std::string& text) {
  // Lines may be wrapped, so a sentence is read from where it begins, over the line's end.
  const auto sentenceAt = [&](std::string_view start) {
    const std::size_t at = text.find(start);
    std::string sentence = at == std::string::npos ? "" : text.substr(at, 400);
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    return sentence;
  };
  int rank = 0;
  int process = 0;
  int signal = 0;
  std::array<char, 80> host{};
  std::array<char, 80> word{};
  // NOLINTBEGIN(cert-err34-c): nine digits cannot overflow, and what does not match is seen by the count
  // Open MPI: "mpirun noticed that process rank 2 with PID 0 on node vm exited on signal 9 (Killed)."
  if (std::sscanf(sentenceAt("process rank ").c_str(),
                  "process rank %9d with PID %9d on node %79s exited on signal %9d", &rank, &process, host.data(),
                  &signal) == 4) {
    return "rank " + std::to_string(rank) + " (" + (process > 0 ? "process " + std::to_string(process) + " " : "") +
           "on " + host.data() + ") was ended by " + signalText(signal);
  }
  // Its daemon on another host: "Remote daemon: [[47552,0],1] on node node3"
  const std::string daemon = sentenceAt("Remote daemon: ");
  if (std::sscanf(daemon.c_str(), "Remote daemon: %*s on node %79s", host.data()) == 1) {
    return std::string(host.data()) + " does not answer: mpirun has lost its daemon there";
  }
  // srun: "srun: error: node3: task 2: Killed"
  const std::size_t error = text.find("srun: error: ");
  const std::string line = error == std::string::npos ? "" : text.substr(error, text.find('\n', error) - error);
  if (std::sscanf(line.c_str(), "srun: error: %79[^:]: task %9d: %79[A-Za-z ]", host.data(), &rank, word.data()) == 3 &&
      std::string_view(word.data()).find("Exited") == std::string_view::npos) {
    std::string how = word.data();
    how.erase(how.find_last_not_of(' ') + 1);
    return "rank " + std::to_string(rank) + " (on " + host.data() + ") was ended: " + how;
  }
  // MPICH: "= PID 4711 RUNNING AT node3 = KILLED BY SIGNAL: 9 (Killed)"
  const std::string killed = sentenceAt("KILLED BY SIGNAL: ");
  if (std::sscanf(sentenceAt("PID ").c_str(), "PID %9d RUNNING AT %79s", &process, host.data()) == 2 &&
      std::sscanf(killed.c_str(), "KILLED BY SIGNAL: %9d", &signal) == 1) {
    return "a rank (process " + std::to_string(process) + " on " + host.data() + ") was ended by " + signalText(signal);
  }
  // NOLINTEND(cert-err34-c)
  return {};
}

}  // namespace coppice::executor

// SPDX-License-Identifier: Apache-2.0
#include "mpi/launch_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace coppice::executor {

Result<std::vector<HostShare>> shareRanks(const std::string& hosts, int ranks) {
  std::vector<HostShare> shares;
  int given = 0;
  int open = 0;
  std::istringstream list(hosts);
  for (std::string word; std::getline(list, word, ',');) {
    HostShare share{.host = word.substr(0, word.find(':'))};
    const bool isPlain = std::all_of(share.host.begin(), share.host.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("._-").find(c) != std::string_view::npos;
    });
    if (share.host.empty() || !isPlain || share.host.front() == '-') {
      return Error{.code = ErrorCode::badUsage,
                   .message = inQuotes(word) + " is not a host",
                   .fix = "write names separated by commas, for example node1:4,node2:4"};
    }
    if (share.host.size() < word.size()) {
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(word.data() + share.host.size() + 1, end, share.ranks);
      constexpr int kMax = 1 << 20;
      if (read.ec != std::errc{} || read.ptr != end || share.ranks < 1 || share.ranks > kMax) {
        return Error{.code = ErrorCode::badUsage,
                     .message = inQuotes(word) + " has no number of ranks after the colon",
                     .fix = "write a number of 1 or more, for example node1:4"};
      }
    }
    given += share.ranks;
    open += share.ranks == 0 ? 1 : 0;
    shares.push_back(std::move(share));
    constexpr std::size_t kMaxHosts = 1024;
    if (shares.size() > kMaxHosts) {
      return Error{.code = ErrorCode::badUsage, .message = "more than 1024 hosts are given"};
    }
  }
  const int left = std::max(ranks - given, 0);
  if (!shares.empty() && (open == 0 ? given < ranks : left < open)) {
    return Error{.code = ErrorCode::badUsage,
                 .message = open == 0 ? "the hosts can run " + std::to_string(given) + " ranks, the schedule has " +
                                            std::to_string(ranks)
                                      : "there are fewer ranks than hosts: " + std::to_string(ranks),
                 .fix = open == 0 ? "raise the numbers behind the hosts" : "name fewer hosts"};
  }
  int number = 0;
  for (HostShare& share : shares) {
    if (share.ranks == 0) {
      share.ranks = left / open + (number++ < left % open ? 1 : 0);
    }
  }
  return shares;
}

std::vector<std::string> hostProgram(const std::string& program, const std::string& folder, const std::string& home) {
  const auto below = [&](const std::string& path) {
    return !home.empty() && home != "/" && path.starts_with(home + "/") ? path.substr(home.size() + 1) : std::string();
  };
  const std::string place = below(folder);
  const std::string file = below(program);
  if (place.empty() || file.empty()) {
    return {program};
  }
  return {"/bin/sh",      "-c",  R"(cd -- "$HOME/$1" && file=$2 && shift 2 && exec "$HOME/$file" "$@")",
          "coppice-exec", place, file};
}

std::vector<std::string> launchCommand(const LaunchRequest& request, const std::string& launcher, bool isOpenMpi,
                                       const std::vector<std::string>& program, int cores) {
  std::vector<std::string> command = {launcher};
  const auto add = [&](std::initializer_list<std::string> words) { command.insert(command.end(), words); };
  const std::string ranks = std::to_string(request.ranks);
  const auto shares = shareRanks(request.hosts, request.ranks);
  std::string names;
  std::string numbered;
  for (const HostShare& share : shares ? *shares : std::vector<HostShare>{}) {
    names += (names.empty() ? "" : ",") + share.host;
    numbered += (numbered.empty() ? "" : ",") + share.host + ":" + std::to_string(share.ranks);
  }
  if (launcher == "srun") {
    add({"--ntasks=" + ranks, "--job-name=coppice", "--kill-on-bad-exit=1", "--input=none", "--cpu-bind=none"});
    if (std::getenv("SLURM_MPI_TYPE") == nullptr) {
      add({"--mpi=pmix"});
    }
    if (!request.partition.empty()) {
      add({"--partition=" + request.partition});
    }
    if (!names.empty()) {
      add({"--nodelist=" + names, "--nodes=" + std::to_string(shares->size())});
      if (request.hosts.find(':') != std::string::npos) {
        add({"--ntasks-per-node=" + std::to_string(shares->front().ranks)});
      }
    }
  } else {
    add({"-n", ranks});
    if (isOpenMpi) {
      // Workers are threads of ours; a rank bound to one core would keep them all there.
      add({"--bind-to", "none", "--stdin", "none"});
      for (char** variable = environ; *variable != nullptr; ++variable) {
        // Its own it takes along by itself.
        const std::string_view text = *variable;
        if (text.starts_with("COPPICE_") || text.starts_with("UCX_")) {
          add({"-x", std::string(text.substr(0, text.find('=')))});
        }
      }
    }
    if (!names.empty()) {
      if (isOpenMpi) {
        // Ranks in the order of the hosts. No user can answer ssh, and a host that falls silent is lost soon.
        add({"--map-by", "slot"});
        const auto setting = [&](const char* name, const char* value) {
          if (std::getenv((std::string("OMPI_MCA_") + name).c_str()) == nullptr) {
            add({"--mca", name, value});
          }
        };
        setting("plm_rsh_agent", "ssh -o BatchMode=yes -o ConnectTimeout=10");
        // Sooner than a rank on the remote machine finds process 0 silent: what its daemon has to send then would end
        // the probes, and the daemon would stay for the 15 minutes of TCP.
        setting("oob_tcp_keepalive_time", "3");
        setting("oob_tcp_keepalive_intvl", "1");
        setting("oob_tcp_keepalive_probes", "5");
      }
      add({isOpenMpi ? "--host" : "-hosts", numbered});
    } else if (isOpenMpi && request.ranks > cores) {
      add({"--oversubscribe"});
    }
  }
  command.insert(command.end(), program.begin(), program.end());
  // What is for the launcher alone stays here.
  for (std::size_t i = 0; i < request.words.size(); ++i) {
    const std::string& word = request.words[i];
    bool isOurs = word == "--lifeline";
    for (const std::string_view option :
         {"--launch", "--host", "--hosts", "--partition", "--processes", "--backend", "--start-limit"}) {
      if (word == option) {
        isOurs = true;
        ++i;  // its value
      } else if (word.starts_with(std::string(option) + "=")) {
        isOurs = true;
      }
    }
    if (!isOurs) {
      command.push_back(word);
    }
  }
  add({"--backend", request.backend, "--launched"});
  return command;
}

}  // namespace coppice::executor

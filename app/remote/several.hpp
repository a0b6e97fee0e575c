// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "remote/host.hpp"
#include "remote/scripts.hpp"

/// One run over several machines: mpirun starts on the first and goes by ssh from there to the others, so they must
/// reach each other; the names by which we know them may mean nothing on the remote machine.
namespace coppice::remote {

/// A machine of such a run.
struct Member {
  Target target = {};
  int ranks = 0;  ///< 0 = an even share
};
/// Reads "a,ann@b:4": the number behind the colon is one of ranks; a port is in the ssh configuration. Errors:
/// badUsage (not a host, twice the same, no number).
Result<std::vector<Member>> parseMembers(std::string_view text);
/// "a,ann@b:4"
[[nodiscard]] std::string membersText(const std::vector<Member>& members);

/// The command line that shows a run again: "coppice-cli run --host ann@a:22 --attach ID", ready to be pasted into a
/// shell. @param sshConfig  of --ssh-config; empty = none @pre members is not empty
[[nodiscard]] std::string attachCommand(const std::vector<Member>& members, const std::string& sshConfig,
                                        const std::string& run);

/// What a machine may be called by another: its own name, ours, and the address in our ssh configuration; each once,
/// only names that may be on a command line.
[[nodiscard]] std::vector<std::string> namesOf(const std::string& ownName, const std::string& ourName,
                                               const std::string& address);

/// Tries, on the first machine, to get to the folder of this run on each of the others, by each of its names in turn,
/// all machines at once: "reached INDEX NAME", or "missed INDEX NAME WHY" for each name. @pre isPlainName(run),
/// isHostName of all names
[[nodiscard]] std::string reachScript(const std::string& run, const std::vector<std::vector<std::string>>& others);

/// What came of it for one machine.
struct Reach {
  std::string name = {};  ///< by which the first reaches it; empty = it does not
  Error error = {};
};
/// @param titles  of the machines that reachScript was given, for the messages; `first` of the one it ran on
[[nodiscard]] std::vector<Reach> reachesIn(const Facts& facts, const std::vector<std::string>& titles,
                                           const std::string& first);

/// What is in the way of one MPI run over machines whose executors say these reasons for their mpi backend ("Open
/// MPI v4.1.4"): another library or none. Empty message = nothing.
[[nodiscard]] Error differenceOf(const std::string& first, const std::string& firstMpi, const std::string& other,
                                 const std::string& otherMpi);

}  // namespace coppice::remote

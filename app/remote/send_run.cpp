// SPDX-License-Identifier: Apache-2.0
#include "remote/send_run.hpp"

#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "remote/several.hpp"

namespace coppice::remote {
namespace {

/// The machines as mpirun on the first is to call them: "nodeA:4".
Result<std::vector<std::string>> hostsForFirst(const std::vector<Seat>& seats, const std::string& run,
                                               const std::stop_token& stop) {
  const Session& first = *seats.front().session;
  std::vector<std::vector<std::string>> names;
  std::vector<std::string> titles;
  for (std::size_t i = 1; i < seats.size(); ++i) {
    const Session& other = *seats[i].session;
    names.push_back(namesOf(other.facts().host, other.name(), other.facts().address));
    titles.push_back(other.name());
  }
  const auto tried =
      first.script(reachScript(run, names), "trying ssh to the other machines", first.limits().reach, stop);
  if (!tried) {
    return tried.error();
  }
  std::vector<std::string> hosts{first.facts().host};
  for (const Reach& reach : reachesIn(tried->facts, titles, first.name())) {
    if (reach.name.empty()) {
      return reach.error;
    }
    hosts.push_back(reach.name);
  }
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (!isHostName(hosts[i]) || hosts[i].find(':') != std::string::npos) {
      return Error{ErrorCode::unavailable, seats[i].session->name() + " calls itself " + inQuotes(hosts[i]),
                   "give it a host name of letters, digits, '.' and '-'"};
    }
    hosts[i] += seats[i].ranks > 0 ? ":" + std::to_string(seats[i].ranks) : std::string();
  }
  return hosts;
}

Outcome putJob(const Seat& first, const RunOrder& order, const std::stop_token& stop) {
  program::RunJob job;
  job.arguments = program::executorArguments(order.request, true);
  job.environment = order.environment;
  job.endsWithStarter = order.endsWithStarter;
  job.limitSeconds = order.limitSeconds;
  if (Outcome saved = io::saveFile(order.jobFile, program::writeJob(job)); !saved) {
    return saved;
  }
  const auto upload = uploadOf(order.jobFile, "job.json");
  return upload ? first.session->putFiles(order.run, {*upload}, stop) : Outcome(upload.error());
}

Outcome send(const std::vector<Seat>& seats, RunOrder& order, const std::stop_token& stop) {
  const auto schedule = uploadOf(order.schedule, order.scheduleName);
  if (!schedule) {
    return schedule.error();
  }
  std::vector<Upload> files{*schedule};
  if (!order.goal.empty()) {
    const auto goal = uploadOf(order.goal, order.request.goal);
    if (!goal) {
      return goal.error();
    }
    files.push_back(*goal);
  }
  for (const Seat& seat : seats) {
    const bool isFirst = &seat == &seats.front();
    if (Outcome put = seat.session->putRun(order.run, files, !isFirst, stop); !put) {
      return put;
    }
  }
  if (seats.size() > 1) {
    auto hosts = hostsForFirst(seats, order.run, stop);
    if (!hosts) {
      return hosts.error();
    }
    order.request.launch = program::Launch::mpirun;
    order.request.hosts = std::move(*hosts);
    if (const auto faults = program::faultsOf(order.request); !faults.empty()) {
      return Error{faults.front().code, faults.front().text, faults.front().fix};
    }
  }
  return putJob(seats.front(), order, stop);
}

}  // namespace

Error seatFault(const Seat& first, const Seat& other) {
  const SiteFacts& ours = first.session->facts();
  const SiteFacts& theirs = other.session->facts();
  if (&first != &other && ours.host == theirs.host && ours.boot == theirs.boot) {
    return {ErrorCode::badUsage,
            other.session->title() + " and " + first.session->title() + " are the same machine, " + inQuotes(ours.host),
            "name it once, with all its ranks after the colon"};
  }
  return differenceOf(first.session->name(), ours.mpi(), other.session->name(), theirs.mpi());
}

Outcome sendRun(const std::vector<Seat>& seats, RunOrder order, const std::stop_token& stop) {
  Outcome done = send(seats, order, stop);
  if (!done) {
    dropRun(seats, order.run);
  }
  return done;
}

void dropRun(const std::vector<Seat>& seats, const std::string& run) {
  for (const Seat& seat : seats) {
    seat.session->dropRun(run);
  }
}

}  // namespace coppice::remote

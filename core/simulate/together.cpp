// SPDX-License-Identifier: Apache-2.0
#include "simulate/together.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace coppice::simulate {
namespace {

using fabric::NodeIndex;

/// The nodes of a route in the whole fabric; empty where it does not lead all the way.
std::vector<NodeIndex> nodesOf(const JobPart& part, const Message& message) {
  const fabric::Fabric& own = part.job->fabric();
  std::vector<NodeIndex> nodes{own.gpus()[message.from]};
  for (const std::int32_t arc : part.job->arcsOf(part.job->routes()[message.route])) {
    if (arc >= static_cast<std::int32_t>(own.arcs().size())) {
      continue;  // the total rate
    }
    if (own.arcs()[arc].tail != nodes.back()) {
      return {};
    }
    nodes.push_back(own.arcs()[arc].head);
  }
  if (nodes.back() != own.gpus()[message.to]) {
    return {};
  }
  std::transform(nodes.begin(), nodes.end(), nodes.begin(), [&](NodeIndex node) { return part.nodes[node]; });
  return nodes;
}

std::optional<Error> add(const JobPart& part, Job& job) {
  const auto first = static_cast<MessageId>(job.messages().size());
  const auto rankOf = [&](fabric::Rank rank) {
    return job.fabric().nodes()[part.nodes[part.job->fabric().gpus()[rank]]].rank;
  };
  for (Message message : part.job->messages()) {
    if (message.route != kNoRoute) {
      const std::vector<NodeIndex> nodes = nodesOf(part, message);
      if (nodes.empty()) {
        return Error{ErrorCode::badInput, "a message leaves links out, since a switch copies or sums there",
                     "simulate that schedule alone"};
      }
      const auto route = job.route(nodes);
      if (!route) {
        return route.error();
      }
      message.route = *route;
    }
    message.from = rankOf(message.from);
    message.to = rankOf(message.to);
    message.share *= part.bytes;
    message.added *= part.bytes;
    message.shard = -1;
    job.add(message);
  }
  for (Dependency dependency : part.job->dependencies()) {
    dependency.before += first;
    dependency.after += first;
    job.wait(dependency);
  }
  return std::nullopt;
}

}  // namespace

Result<JoinedJobs> joined(const fabric::Fabric& fabric, const Model& model, std::span<const JobPart> parts) {
  JoinedJobs all{Job(fabric, model), {}};
  for (const JobPart& part : parts) {
    all.first.push_back(static_cast<MessageId>(all.job.messages().size()));
    if (auto fault = add(part, all.job)) {
      return *std::move(fault);
    }
  }
  all.first.push_back(static_cast<MessageId>(all.job.messages().size()));
  return all;
}

}  // namespace coppice::simulate

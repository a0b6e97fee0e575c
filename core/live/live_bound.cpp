// SPDX-License-Identifier: Apache-2.0
#include "live/live_bound.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "live/live_state.hpp"

namespace coppice::live {
namespace {

[[noreturn]] void failUsage(std::string message, std::string fix) {
  throw EditFailure{{ErrorCode::badUsage, std::move(message), std::move(fix)}};
}

void checkRequest(const forestcoll::Request& request, int gpuCount) {
  const bool hasRoot = isRooted(request.collective);
  const std::string name(toString(request.collective));
  if (hasRoot != request.root.has_value()) {
    failUsage(name + (hasRoot ? " needs a root" : " has no root"),
              hasRoot ? "name the root GPU" : "leave the root out");
  }
  if (hasRoot && (*request.root < 0 || *request.root >= gpuCount)) {
    failUsage("rank " + std::to_string(*request.root) + " does not exist",
              "the fabric has ranks 0 to " + std::to_string(gpuCount - 1));
  }
  if (request.amounts.empty()) {
    return;
  }
  if ((hasRoot && !movesShards(request.collective)) || request.collective == Collective::allreduce) {
    failUsage(name + " has no amounts per rank", "leave them out");
  }
  if (request.amounts.size() != static_cast<std::size_t>(gpuCount)) {
    failUsage(std::to_string(request.amounts.size()) + " amounts for " + std::to_string(gpuCount) + " GPUs",
              "give one amount per rank");
  }
  if (std::any_of(request.amounts.begin(), request.amounts.end(), [](std::int64_t amount) { return amount < 0; })) {
    failUsage("an amount is negative", "amounts are 0 or more");
  }
  if (std::all_of(request.amounts.begin(), request.amounts.end(), [](std::int64_t amount) { return amount == 0; })) {
    failUsage("all amounts are zero", "give at least one rank something to send");
  }
}

std::unique_ptr<LiveState> makeState(const PlainFabric& fabric, const forestcoll::Request& request) {
  const auto gpus = std::count_if(fabric.nodes.begin(), fabric.nodes.end(),
                                  [](const PlainNode& node) { return node.kind == fabric::NodeKind::gpu; });
  checkRequest(request, static_cast<int>(gpus));
  auto state = std::make_unique<LiveState>();
  state->request = request;
  state->build(fabric);
  return state;
}

/// Model, then engines; all or nothing. The steps go into the history.
template <typename Change>
void commit(LiveState& state, Change&& change) {
  std::vector<Step> steps;
  try {
    change(steps);
  } catch (...) {
    state.takeBack(steps);
    throw;
  }
  try {
    try {
      state.follow(steps);
    } catch (const OverflowError&) {
      // The unit may carry denominators of bandwidths long gone; from the model alone it is as coarse as can be.
      state.rebuild();
    }
  } catch (...) {
    state.takeBack(steps);
    state.rebuild();
    throw;
  }
  state.history.push_back(std::move(steps));
}

/// Takes the steps out of the model again at its end.
class Trial {
public:
  Trial(LiveState& state, std::vector<Step>& steps) : m_state(state), m_steps(steps) {}
  ~Trial() { m_state.takeBack(m_steps); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

private:
  LiveState& m_state;
  std::vector<Step>& m_steps;
};

}  // namespace

LiveBound::LiveBound(std::unique_ptr<LiveState> state) : m_state(std::move(state)) {}
LiveBound::~LiveBound() = default;
LiveBound::LiveBound(LiveBound&& other) noexcept = default;
LiveBound& LiveBound::operator=(LiveBound&& other) noexcept = default;
LiveBound::LiveBound(const LiveBound& other) : m_state(std::make_unique<LiveState>(*other.m_state)) {}
LiveBound& LiveBound::operator=(const LiveBound& other) {
  if (this != &other) {
    m_state = std::make_unique<LiveState>(*other.m_state);
  }
  return *this;
}

Result<LiveBound> LiveBound::create(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                    const Progress& progress) {
  return guarded<LiveBound>([&] {
    LiveBound live(makeState(plainOf(fabric), request));
    (void)live.m_state->solve(progress);
    return live;
  });
}

Result<LiveBound> LiveBound::create(const fabric::Description& description, const forestcoll::Request& request,
                                    const Progress& progress) {
  return guarded<LiveBound>([&] {
    LiveBound live(makeState(plainOf(description), request));
    (void)live.m_state->solve(progress);
    return live;
  });
}

Result<LiveBound> LiveBound::create(const fabric::EditedFabric& fabric, const forestcoll::Request& request) {
  return guarded<LiveBound>([&] { return LiveBound(makeState(plainOf(fabric), request)); });
}

Result<Answer> LiveBound::bound(const Progress& progress) {
  return guarded<Answer>([&] { return m_state->solve(progress); });
}

Result<Answer> LiveBound::apply(std::span<const Edit> edits, const Progress& progress) {
  return guarded<Answer>([&] {
    commit(*m_state, [&](std::vector<Step>& steps) {
      for (const Edit& edit : edits) {
        m_state->edit(edit, steps);
      }
    });
    return m_state->solve(progress);
  });
}

bool LiveBound::canUndo() const {
  return !m_state->history.empty();
}

Result<Answer> LiveBound::undo(const Progress& progress) {
  return guarded<Answer>([&] {
    if (!canUndo()) {
      failUsage("there is no edit to undo", "edit first");
    }
    const std::vector<Step> last = m_state->history.back();
    commit(*m_state, [&](std::vector<Step>& steps) {
      for (std::size_t i = last.size(); i-- > 0;) {
        Step step = last[i];
        std::swap(step.from, step.to);
        std::swap(step.before, step.after);
        if (step.isNode) {
          m_state->applyNode(step.node, step.after);
        } else {
          m_state->applyArc(step.arc, step.to);
        }
        steps.push_back(std::move(step));
      }
    });
    m_state->history.resize(m_state->history.size() - 2);
    return m_state->solve(progress);
  });
}

Result<Answer> LiveBound::probe(std::span<const Edit> edits, const Progress& progress) {
  return guarded<Answer>([&] {
    (void)m_state->solve(progress);
    std::vector<Step> steps;
    const Trial trial(*m_state, steps);
    for (const Edit& edit : edits) {
      m_state->edit(edit, steps);
    }
    return m_state->probe(steps, progress);
  });
}

std::optional<NodeId> LiveBound::find(std::string_view id) const {
  const auto found = m_state->byId.find(std::string(id));
  return found == m_state->byId.end() || !isAlive(found->second) ? std::nullopt : std::optional(found->second);
}

const std::string& LiveBound::id(NodeId node) const {
  return m_state->node(node).id;
}

fabric::NodeKind LiveBound::kind(NodeId node) const {
  return m_state->node(node).kind;
}

const std::string& LiveBound::box(NodeId node) const {
  return m_state->node(node).box;
}

bool LiveBound::isAlive(NodeId node) const {
  return m_state->node(node).isAlive;
}

NodeId LiveBound::nodeLimit() const {
  return static_cast<NodeId>(m_state->nodes.size());
}

Bandwidth LiveBound::bandwidth(NodeId src, NodeId dst) const {
  return m_state->bandwidth(src, dst);
}

std::vector<LiveLink> LiveBound::links() const {
  std::vector<LiveLink> links;
  for (const LiveState::Arc& arc : m_state->arcs) {
    const Bandwidth back = m_state->bandwidth(arc.head, arc.tail);
    // Each pair once: by its arc from the smaller node, or by the other where that one is missing.
    if (!arc.bandwidth.isZero() && (arc.tail < arc.head || back.isZero())) {
      const bool isForward = arc.tail < arc.head;
      links.push_back({std::min(arc.tail, arc.head), std::max(arc.tail, arc.head), isForward ? arc.bandwidth : back,
                       isForward ? back : arc.bandwidth});
    }
  }
  std::sort(links.begin(), links.end(),
            [](const LiveLink& x, const LiveLink& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
  return links;
}

}  // namespace coppice::live

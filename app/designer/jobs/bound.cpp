// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/bound.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "forestcoll/tied_cuts.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/proved_optimum.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Bound)
};

QString exact(const Bandwidth& value) {
  return value.gigabytesPerSecond().isInteger() ? QString() : QString::fromStdString(toFraction(value));
}

/// An all-to-all that is not solved exactly by then is shown as an interval.
constexpr std::chrono::milliseconds kExchangeBudget(3000);
/// For the linear program that tells whether an allreduce in two halves is optimal.
constexpr std::chrono::milliseconds kAllreduceBudget(300);

/// Above this many GPUs the bound comes first, see Bound::isOpen.
constexpr int kManyGpus = 8192;

fabric::BoxTree boxesOf(const fabric::EditedFabric::Indexed& fabric) {
  std::vector<std::string_view> boxOfNode;
  boxOfNode.reserve(fabric.nodes.size());
  for (const auto* node : fabric.nodes) {
    boxOfNode.emplace_back(node->facts.box);
  }
  return fabric::BoxTree(boxOfNode);
}

void noteMissingCuts(const Error& error, Bound& bound) {
  bound.note += (bound.note.isEmpty() ? QString() : u" "_s) +
                Texts::tr("Other cuts may be equally tight; they were not found: %1").arg(sentence(error));
}

}  // namespace

QString collectiveName(Collective collective) {
  switch (collective) {
    case Collective::allgather:
      return Texts::tr("AllGather");
    case Collective::reduceScatter:
      return Texts::tr("ReduceScatter");
    case Collective::allreduce:
      return Texts::tr("AllReduce");
    case Collective::broadcast:
      return Texts::tr("Broadcast");
    case Collective::reduce:
      return Texts::tr("Reduce");
    case Collective::alltoall:
      return Texts::tr("AllToAll");
    case Collective::gather:
      return Texts::tr("Gather");
    case Collective::scatter:
      return Texts::tr("Scatter");
    case Collective::custom:
      return Texts::tr("Custom");
  }
  return {};
}

int Bound::errors() const {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                        [](const Finding& finding) { return finding.severity == Severity::error; }));
}

int Bound::warnings() const {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                        [](const Finding& finding) { return finding.severity == Severity::warning; }));
}

bool hasCutBound(Collective collective) {
  return collective != Collective::alltoall && collective != Collective::custom;
}

QString noCutBoundText(Collective collective) {
  return Texts::tr("Not available for %1. Choose another collective in the tool bar, such as AllGather.")
      .arg(collectiveName(collective));
}

QString Bound::headline() const {
  QString text = collectiveName(question.collective);
  if (algbw) {
    text += (reached ? Texts::tr(" at most ") : u" "_s) + gigabytes(*algbw);
    if (const QString fraction = exact(*algbw); !fraction.isEmpty()) {
      text += u" = "_s + fraction;
    }
  }
  return text;
}

QString Bound::claim() const {
  const std::string_view text = schedule::sentenceOf(scope);
  const QString words = QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
  return words.left(1).toUpper() + words.mid(1) + u'.';
}

void BoundSolver::reset(Snapshot snapshot) {
  const std::lock_guard lock(m_inboxMutex);
  m_newRevision = snapshot.factRevision;
  m_newFacts = std::move(snapshot);
  m_deltas.clear();
}

void BoundSolver::change(fabric::FabricDelta delta, std::uint64_t factRevision) {
  const std::lock_guard lock(m_inboxMutex);
  m_newRevision = factRevision;
  m_deltas.push_back(std::move(delta));
}

void BoundSolver::takeChanges() {
  std::optional<Snapshot> facts;
  std::vector<fabric::FabricDelta> deltas;
  {
    const std::lock_guard lock(m_inboxMutex);
    facts = std::exchange(m_newFacts, std::nullopt);
    deltas = std::exchange(m_deltas, {});
    m_factRevision = m_newRevision;
  }
  if (facts) {
    m_fabric = {};
    m_fabric.apply(facts->delta());
  }
  for (fabric::FabricDelta& delta : deltas) {
    m_fabric.apply(std::move(delta));
  }
}

Bound BoundSolver::compute(const Question& question, std::stop_token stop) {
  const std::lock_guard lock(m_mutex);
  Bound bound;
  bound.question = question;
  QElapsedTimer clock;
  clock.start();
  m_cutBound.reset();
  try {
    takeChanges();
    solve(question, std::move(stop), bound);
  } catch (const std::exception& exception) {
    bound.why = Texts::tr("The bound could not be computed: %1").arg(QString::fromUtf8(exception.what()));
  }
  bound.factRevision = m_factRevision;
  constexpr double kMillisecondsPerSecond = 1000;
  bound.seconds = static_cast<double>(clock.elapsed()) / kMillisecondsPerSecond;
  return bound;
}

/// All that validate() says. An error is also why there is no bound.
void BoundSolver::inspect(Bound& bound) const {
  std::vector<NodeId> nodes;
  for (const auto& [key, node] : m_fabric.nodes()) {
    nodes.push_back(NodeId{key});
  }
  const std::vector<fabric::Key> links = m_fabric.linkKeys();
  const auto culpritOf = [&](const ElementRef& element) {
    if (const ElementPart* const node = element.as(RefKind::node)) {
      return ElementId(nodes[node->index]);
    }
    const ElementPart* const link = element.as(RefKind::link);
    return link != nullptr && link->index >= 0 ? ElementId(LinkId{links[link->index]}) : ElementId();
  };
  for (Finding& finding : fabric::validate(m_fabric.description())) {
    bound.culprits.push_back(culpritOf(finding.where.element));
    if (finding.severity == Severity::error && bound.why.isEmpty()) {
      bound.why = sentence(finding);
    }
    bound.findings.push_back(std::move(finding));
  }
}

void BoundSolver::solve(const Question& question, std::stop_token stop, Bound& bound) {
  if (!m_fabric.isClean()) {
    inspect(bound);
    if (!bound.why.isEmpty() || stop.stop_requested()) {
      return;
    }
    if (!m_fabric.isSound()) {
      throw OverflowError("the sums of the bandwidths leave the exact range");
    }
  }
  bound.gpuCount = m_fabric.gpuCount();
  forestcoll::Request request;
  request.collective = question.collective;
  const bool asksForTrees = question.collective == Collective::allreduce && bound.gpuCount <= kManyGpus;
  request.allreduceBudget = asksForTrees ? kAllreduceBudget : std::chrono::milliseconds(0);
  if (isRooted(question.collective)) {
    const std::vector<fabric::Key>& gpus = m_fabric.gpus();
    const auto chosen = std::find(gpus.begin(), gpus.end(), question.root.value);
    request.root = chosen == gpus.end() ? 0 : static_cast<int>(chosen - gpus.begin());
  }
  Progress progress;
  progress.stop = std::move(stop);
  if (question.collective == Collective::alltoall) {
    solveExchange(progress, bound);
    return;
  }
  Result<live::CutBound> found = live::CutBound::create(m_fabric, request, progress);
  if (!found) {
    bound.why = sentence(found.error());
    return;
  }
  const live::Answer& answer = found->answer();
  if (answer.finding) {
    bound.gpuCount = 0;
    inspect(bound);
    if (bound.why.isEmpty()) {
      bound.why = sentence(*answer.finding);
    }
    return;
  }
  m_question = question;
  m_request = request;
  m_cutBound = *found;
  bound.algbw = answer.algbw;
  if (movesShards(question.collective)) {
    addShardCuts(request, answer, progress, bound);
    return;
  }
  if (!answer.isBalanced && !answer.isForTrees) {
    request.allreduceBudget = kAllreduceBudget;
    const auto fabric = fabric::Fabric::build(m_fabric.description());
    const auto optimum = fabric ? workflow::provedOptimum(*fabric, request, progress) : fabric.error();
    if (!optimum) {
      bound.algbw.reset();
      bound.why = sentence(optimum.error());
      return;
    }
    bound.note = QString::fromStdString(optimum->note);
    bound.algbw = optimum->boundProof ? optimum->boundProof->bound : optimum->algbw;
    if (optimum->algbw < *bound.algbw) {
      bound.reached = optimum->algbw;
    }
    if (optimum->bottlenecks.empty()) {
      if (!optimum->boundProof) {
        addScope(false, bound);
      }
      return;
    }
  }
  bound.isOpen = bound.gpuCount > kManyGpus;
  addCuts(answer, progress, bound);
  addScope(true, bound);
  if (!bound.isOpen) {
    addOverlap(progress, bound);
  }
}

void BoundSolver::addScope(bool hasCut, Bound& bound) const {
  if (hasCut && bound.question.collective != Collective::allreduce) {
    return;
  }
  schedule::SwitchAbilities switches;
  for (const auto& [key, node] : m_fabric.nodes()) {
    if (node.kind && *node.kind != fabric::NodeKind::gpu) {
      switches.copy = switches.copy || node.facts.multicast;
      switches.sum = switches.sum || node.facts.aggregation;
    }
  }
  bound.scope = schedule::boundScope(switches, bound.question.collective, {.hasCut = hasCut});
  if (bound.scope == schedule::BoundScope::plainSwitches) {
    bound.note += (bound.note.isEmpty() ? QString() : u" "_s) + bound.claim();
  }
}

void BoundSolver::addOverlap(const Progress& progress, Bound& bound) const {
  if (bound.question.collective != Collective::allreduce) {
    return;
  }
  const auto fabric = fabric::Fabric::build(m_fabric.description());
  const auto optimum =
      fabric ? workflow::provedOptimum(
                   *fabric, {.collective = Collective::allreduce, .allreduceBudget = kAllreduceBudget}, progress)
             : fabric.error();
  if (!optimum || !optimum->allreduceLimit) {
    return;
  }
  bound.scope = schedule::BoundScope::trees;
  bound.note.clear();
  bound.algbw = optimum->allreduceLimit->algbw;
  if (optimum->algbw < *bound.algbw) {
    bound.reached = optimum->algbw;
  }
  if (optimum->boundProof && (optimum->overlapped || bound.reached)) {
    bound.cuts = {pricedLinksView(m_fabric.indexed(), fabric->arcs(), optimum->boundProof->linkPrice)};
    bound.cutCount = 1;
    bound.isCutCountExact = true;
  }
  if (optimum->overlapped) {
    bound.note = optimum->usesSwitches
                     ? Texts::tr(
                           "Trees that reduce and broadcast at the same time reach %1, with copies and sums in "
                           "switches. Switches that only forward allow %2.")
                           .arg(gigabytes(optimum->algbw), gigabytes(optimum->plainSwitches->algbw))
                     : Texts::tr(
                           "Trees that reduce and broadcast at the same time reach %1; reduce-scatter then "
                           "allgather reach %2.")
                           .arg(gigabytes(optimum->algbw), gigabytes(optimum->halvesAlgbw));
  }
}

/// The fabric, or why there is none in `bound`.
std::optional<fabric::Fabric> BoundSolver::builtFabric(Bound& bound) const {
  auto fabric = fabric::Fabric::build(m_fabric.description());
  if (fabric) {
    return *std::move(fabric);
  }
  bound.gpuCount = 0;
  inspect(bound);
  if (bound.why.isEmpty()) {
    bound.why = sentence(fabric.error());
  }
  return std::nullopt;
}

void BoundSolver::solveExchange(const Progress& progress, Bound& bound) const {
  const auto fabric = builtFabric(bound);
  if (!fabric) {
    return;
  }
  const auto found = workflow::verifiedAlltoall(*fabric, {.budget = kExchangeBudget}, progress);
  if (!found) {
    bound.why = sentence(found.error());
    return;
  }
  const auto& optimum = *found;
  bound.algbw = optimum->upper * Rational(optimum->gpuCount);
  if (!optimum->isExact()) {
    bound.reached = optimum->lower * Rational(optimum->gpuCount);
  }
  bound.cuts = {exchangeView(m_fabric.indexed(), fabric->arcs(), optimum->lengths, optimum->upper)};
  bound.cutCount = 1;
}

/// Of gather and scatter: around each GPU the minimum cut that is tight.
void BoundSolver::addShardCuts(const forestcoll::Request& request, const live::Answer& answer, const Progress& progress,
                               Bound& bound) const {
  const fabric::EditedFabric::Indexed indexed = m_fabric.indexed();
  const fabric::BoxTree boxes = boxesOf(indexed);
  const CutViews views(indexed, boxes, answer.isReduction ? CutTraffic::shardsIn : CutTraffic::shardsOut);
  const auto fabric = builtFabric(bound);
  const auto tied = fabric ? forestcoll::tiedCuts(*fabric, request, answer.cut, progress)
                           : Result<forestcoll::TiedCuts>(Error{ErrorCode::infeasible, {}, {}});
  const std::vector<schedule::Cut> cuts = tied ? tied->cuts : std::vector<schedule::Cut>{answer.cut};
  if (!tied) {
    noteMissingCuts(tied.error(), bound);
  }
  bound.cutCount = tied ? tied->count : 1;
  bound.isCutCountExact = tied && tied->isExact;
  for (const schedule::Cut& cut : cuts) {
    bound.cuts.push_back(views.of(cut));
  }
}

void BoundSolver::addCuts(const live::Answer& answer, const Progress& progress, Bound& bound) const {
  const fabric::EditedFabric::Indexed fabric = m_fabric.indexed();
  const fabric::BoxTree boxes = boxesOf(fabric);
  const CutViews views(fabric, boxes, answer.isReduction ? CutTraffic::sumsIn : CutTraffic::shardsOut);
  const Result<forestcoll::TiedCuts> tied =
      bound.isOpen ? forestcoll::TiedCuts{{answer.cut}, 1, false}
                   : forestcoll::tiedCuts({fabric.gpus, fabric.arcs, boxes}, m_request, answer.cut, progress);
  if (!tied) {
    // The bound stands without them.
    noteMissingCuts(tied.error(), bound);
    bound.cuts = {views.of(answer.cut)};
    bound.cutCount = 1;
    bound.isCutCountExact = false;
    return;
  }
  bound.cutCount = tied->count;
  bound.isCutCountExact = tied->isExact;
  bound.cuts.clear();
  for (const schedule::Cut& cut : tied->cuts) {
    bound.cuts.push_back(views.of(cut));
  }
}

Bound BoundSolver::completed(Bound bound, std::stop_token stop) const {
  const std::lock_guard lock(m_mutex);
  if (bound.isOpen && m_cutBound && m_factRevision == bound.factRevision && m_question == bound.question) {
    Progress progress;
    progress.stop = std::move(stop);
    bound.isOpen = false;
    addCuts(m_cutBound->answer(), progress, bound);
    addOverlap(progress, bound);
  }
  return bound;
}

std::optional<live::CutBound> BoundSolver::cutBoundOf(std::uint64_t factRevision, const Question& question) const {
  const std::lock_guard lock(m_mutex);
  return m_factRevision == factRevision && m_question == question ? m_cutBound : std::nullopt;
}

Bound computeBound(const Snapshot& snapshot, const Question& question, std::stop_token stop) {
  BoundSolver solver;
  solver.reset(snapshot);
  return solver.completed(solver.compute(question, stop), stop);
}

}  // namespace coppice::designer

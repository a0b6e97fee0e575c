// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/bound.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QStringList>
#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "forestcoll/tied_cuts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Bound)
};

QString gigabytes(const Rational& value) {
  return QString::fromStdString(toDecimal(value)) + u" GB/s"_s;
}

QString exact(const Rational& value) {
  return value.isInteger() ? QString() : QString::fromStdString(value.toString());
}

/// "b0", "b0 and b1", "b0, b1, b2 and 5 more".
QString joined(const QStringList& names) {
  constexpr qsizetype kShown = 3;
  if (names.size() <= 1) {
    return names.join(u", "_s);
  }
  if (names.size() <= kShown + 1) {
    return names.mid(0, names.size() - 1).join(u", "_s) + Texts::tr(" and ") + names.back();
  }
  return names.mid(0, kShown).join(u", "_s) + Texts::tr(" and %1 more").arg(names.size() - kShown);
}

/// The GPUs named by their boxes where they fill them, outermost first, else by themselves; then the switches and NICs
/// that stand in none of these boxes.
QString sideName(const fabric::Fabric& fabric, const std::vector<bool>& isIn) {
  std::map<std::string, std::pair<int, int>> boxes;  // path → GPUs in the set, GPUs in all
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    const std::string& path = fabric.nodes()[static_cast<std::size_t>(gpu)].box;
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      auto& [inside, all] = boxes[path.substr(0, end)];
      ++all;
      inside += isIn[static_cast<std::size_t>(gpu)] ? 1 : 0;
      if (end == std::string::npos) {
        break;
      }
    }
  }
  const auto isFull = [&](const std::string& path) {
    const auto found = boxes.find(path);
    return !path.empty() && found != boxes.end() && found->second.first == found->second.second;
  };
  QStringList names;
  std::set<std::string> named;
  const auto add = [&](fabric::NodeIndex at) {
    const fabric::Node& node = fabric.nodes()[static_cast<std::size_t>(at)];
    std::string name;
    for (std::size_t end = node.box.find('/');; end = node.box.find('/', end + 1)) {
      if (isFull(node.box.substr(0, end))) {
        name = node.box.substr(0, end);
        break;
      }
      if (end == std::string::npos) {
        break;
      }
    }
    if (name.empty()) {
      names << QString::fromStdString(node.id);
    } else if (named.insert(name).second) {
      names << QString::fromStdString(name);
    }
  };
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    if (isIn[static_cast<std::size_t>(gpu)]) {
      add(gpu);
    }
  }
  for (fabric::NodeIndex at = 0; at < fabric.nodeCount(); ++at) {
    if (isIn[static_cast<std::size_t>(at)] && fabric.nodes()[static_cast<std::size_t>(at)].rank < 0) {
      add(at);
    }
  }
  return joined(names);
}

CutView viewOf(const fabric::Fabric& fabric, const Snapshot& snapshot, bool isReduction, const schedule::Cut& cut) {
  CutView view;
  std::vector<bool> isIn(static_cast<std::size_t>(fabric.nodeCount()), false);
  for (const fabric::NodeIndex node : cut.nodes) {
    isIn[static_cast<std::size_t>(node)] = true;
    view.inside.push_back(snapshot.nodes[static_cast<std::size_t>(node)]);
  }
  std::vector<bool> isOut(isIn.size());
  for (std::size_t i = 0; i < isIn.size(); ++i) {
    isOut[i] = !isIn[i];
  }
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    ++(isIn[static_cast<std::size_t>(gpu)] ? view.gpusInside : view.gpusOutside);
  }
  view.demand = cut.demand;
  view.exitBandwidth = cut.exitBandwidth;

  // Reductions run against the direction of allgather: what counts for them enters S.
  for (const fabric::Arc& arc : fabric.arcs()) {
    const bool leaves = isIn[static_cast<std::size_t>(arc.tail)] && !isIn[static_cast<std::size_t>(arc.head)];
    const bool enters = !isIn[static_cast<std::size_t>(arc.tail)] && isIn[static_cast<std::size_t>(arc.head)];
    if (isReduction ? enters : leaves) {
      view.crossings.push_back({snapshot.nodes[static_cast<std::size_t>(arc.tail)],
                                snapshot.nodes[static_cast<std::size_t>(arc.head)],
                                arc.bandwidth.gigabytesPerSecond()});
    }
  }

  const QString width = gigabytes(cut.exitBandwidth);
  const QString through =
      view.crossings.size() == 1 ? Texts::tr(" through %1 of %2.") : Texts::tr(" through %1 of %2 in total.");
  const QString inside = sideName(fabric, isIn);
  const QString outside = sideName(fabric, isOut);
  // The smaller side is the one a person thinks of.
  const bool namesOutside = view.gpusOutside < view.gpusInside;
  const QString links = counted(static_cast<qsizetype>(view.crossings.size()), Texts::tr("link"), Texts::tr("links"));
  view.senders = counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs"));
  view.place = namesOutside ? outside : inside;
  view.links = links;
  if (isReduction) {
    view.words = (namesOutside ? Texts::tr("out of %1").arg(outside) : Texts::tr("into %1").arg(inside)) + u" · "_s +
                 counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) + u" · "_s + width;
    view.sentence =
        Texts::tr("The sums of ") + counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) +
        (namesOutside ? Texts::tr(" must leave %1").arg(outside) : Texts::tr(" must enter %1").arg(inside)) +
        through.arg(links, width);
  } else {
    view.words = (namesOutside ? Texts::tr("into %1").arg(outside) : Texts::tr("out of %1").arg(inside)) + u" · "_s +
                 counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) + u" · "_s + width;
    view.sentence =
        Texts::tr("The shards of ") + counted(view.gpusInside, Texts::tr("GPU"), Texts::tr("GPUs")) +
        (namesOutside ? Texts::tr(" must enter %1").arg(outside) : Texts::tr(" must leave %1").arg(inside)) +
        through.arg(links, width);
  }
  return view;
}

/// Why there is no answer, and what to do.
QString reason(const std::string& message, const std::string& fix) {
  return QString::fromStdString(fix.empty() ? message : message + "; " + fix);
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

QString Bound::headline() const {
  QString text = collectiveName(question.collective);
  if (algbw) {
    text += u' ' + gigabytes(*algbw);
    if (const QString fraction = exact(*algbw); !fraction.isEmpty()) {
      text += u" = "_s + fraction;
    }
  }
  return text;
}

Bound BoundSolver::compute(const Snapshot& snapshot, const Question& question, std::stop_token stop) {
  Bound bound;
  bound.question = question;
  bound.factRevision = snapshot.factRevision;
  QElapsedTimer clock;
  clock.start();
  try {
    bound.findings = fabric::validate(*snapshot.facts);
    const ElementFinder finder(snapshot);
    for (const Finding& finding : bound.findings) {
      bound.culprits.push_back(finder.find(finding.where));
    }
    if (!stop.stop_requested()) {
      solve(snapshot, question, std::move(stop), bound);
    }
  } catch (const std::exception& exception) {
    bound.why = Texts::tr("The bound could not be computed: %1").arg(QString::fromUtf8(exception.what()));
  }
  constexpr double kMillisecondsPerSecond = 1000;
  bound.seconds = static_cast<double>(clock.elapsed()) / kMillisecondsPerSecond;
  return bound;
}

void BoundSolver::solve(const Snapshot& snapshot, const Question& question, std::stop_token stop, Bound& bound) {
  const auto fabric = fabric::Fabric::build(*snapshot.facts);
  if (!fabric) {
    bound.why = reason(fabric.error().message, fabric.error().fix);
    return;
  }
  bound.gpuCount = fabric->gpuCount();
  forestcoll::Request request;
  request.collective = question.collective;
  request.allreduceBudget = std::chrono::milliseconds(0);
  std::string rootName;
  if (question.collective == Collective::broadcast || question.collective == Collective::reduce) {
    request.root = 0;
    const auto at = std::lower_bound(snapshot.nodes.begin(), snapshot.nodes.end(), question.root);
    if (at != snapshot.nodes.end() && *at == question.root) {
      const fabric::Rank rank = fabric->nodes()[static_cast<std::size_t>(at - snapshot.nodes.begin())].rank;
      request.root = std::max(rank, 0);
    }
    for (const fabric::NodeIndex gpu : fabric->gpus()) {
      const fabric::Node& node = fabric->nodes()[static_cast<std::size_t>(gpu)];
      rootName = node.rank == *request.root ? node.id : rootName;
    }
  }
  Progress progress;
  progress.stop = std::move(stop);

  const std::lock_guard lock(m_mutex);
  m_isAnswered = false;
  const Result<live::Answer> answer = follow(*fabric, request, rootName, progress);
  if (!answer) {
    bound.why = reason(answer.error().message, answer.error().fix);
    return;
  }
  if (answer->finding) {
    bound.why = reason(answer->finding->text, answer->finding->fix);
    return;
  }
  m_question = question;
  m_factRevision = snapshot.factRevision;
  m_isAnswered = true;
  bound.algbw = answer->algbw;
  if (answer->isBalanced) {
    addCuts(*fabric, snapshot, request, *answer, progress, bound);
    return;
  }
  const auto optimum = forestcoll::optimum(*fabric, request, progress);
  if (!optimum) {
    bound.algbw.reset();
    bound.why = reason(optimum.error().message, optimum.error().fix);
    return;
  }
  bound.note = QString::fromStdString(optimum->note);
  bound.algbw = optimum->algbw;
  if (!optimum->bottlenecks.empty()) {
    addCuts(*fabric, snapshot, request, *answer, progress, bound);
  }
}

void BoundSolver::addCuts(const fabric::Fabric& fabric, const Snapshot& snapshot, const forestcoll::Request& request,
                          const live::Answer& answer, const Progress& progress, Bound& bound) const {
  std::unordered_map<std::string_view, fabric::NodeIndex> byName;
  for (fabric::NodeIndex i = 0; i < fabric.nodeCount(); ++i) {
    byName.emplace(fabric.nodes()[static_cast<std::size_t>(i)].id, i);
  }
  schedule::Cut known = answer.cut;
  for (fabric::NodeIndex& node : known.nodes) {
    node = byName.at(m_live->id(node));
  }
  std::sort(known.nodes.begin(), known.nodes.end());
  const Result<forestcoll::TiedCuts> tied = forestcoll::tiedCuts(fabric, request, known, progress);
  if (!tied) {
    // The bound stands without them.
    bound.cuts = {viewOf(fabric, snapshot, answer.isReduction, known)};
    bound.cutCount = 1;
    bound.isCutCountExact = false;
    return;
  }
  bound.cutCount = tied->count;
  bound.isCutCountExact = tied->isExact;
  for (const schedule::Cut& cut : tied->cuts) {
    bound.cuts.push_back(viewOf(fabric, snapshot, answer.isReduction, cut));
  }
}

Result<live::Answer> BoundSolver::follow(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                         const std::string& rootName, const Progress& progress) {
  // What is kept grows with every edit: names that are gone and the history. Now and then it starts again.
  constexpr int kMaxUpdates = 2000;
  constexpr int kSlack = 64;
  const bool fits = m_live && m_collective == request.collective && m_rootName == rootName && m_updates < kMaxUpdates &&
                    m_live->nodeLimit() <= 2 * fabric.nodeCount() + kSlack;
  if (fits) {
    ++m_updates;
    Result<live::Answer> answer = m_live->update(fabric, progress);
    if (answer || answer.error().code == ErrorCode::cancelled) {
      return answer;
    }
  }
  m_live.reset();
  Result<live::LiveBound> made = live::LiveBound::create(fabric, request, progress);
  if (!made) {
    return made.error();
  }
  m_live.emplace(std::move(*made));
  m_collective = request.collective;
  m_rootName = rootName;
  m_updates = 0;
  return m_live->bound(progress);
}

std::optional<live::LiveBound> BoundSolver::stateOf(std::uint64_t factRevision, const Question& question) const {
  const std::lock_guard lock(m_mutex);
  return m_isAnswered && m_factRevision == factRevision && m_question == question ? m_live : std::nullopt;
}

Bound computeBound(const Snapshot& snapshot, const Question& question, std::stop_token stop) {
  return BoundSolver().compute(snapshot, question, std::move(stop));
}

}  // namespace coppice::designer

// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/ranking.hpp"

#include <QCoreApplication>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/analysis/link_groups.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/models/element_table_model.hpp"
#include "live/failures.hpp"
#include "live/prices.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct RankingTexts {
  Q_DECLARE_TR_FUNCTIONS(Ranking)
};

RankedCell number(const Rational& value, const QString& text, const QString& toolTip) {
  return {text, value, true, toolTip};
}

RankedCell number(const Bandwidth& value, const QString& text, const QString& toolTip) {
  return number(value.gigabytesPerSecond(), text, toolTip);
}

Ranking rankingOf(const Snapshot& snapshot, const Question& question) {
  Ranking ranking;
  ranking.question = question;
  ranking.factRevision = snapshot.factRevision;
  return ranking;
}

Progress progressOf(const WorkDone& done, std::stop_token stop) {
  Progress progress;
  progress.stop = std::move(stop);
  progress.onReport = [done](std::string_view, double fraction) {
    constexpr double kThousand = 1000;
    done->store(static_cast<int>(fraction * kThousand));
  };
  return progress;
}

/// Runs the work on what is behind the solver's answer and writes what goes wrong into the answer.
template <typename Work>
Ranking rank(const BoundSolver& solver, const Snapshot& snapshot, const Question& question, Work&& work) {
  Ranking ranking = rankingOf(snapshot, question);
  try {
    if (!hasCutBound(question.collective)) {
      ranking.why = noCutBoundText(question.collective);
      return ranking;
    }
    const std::optional<live::CutBound> cutBound = solver.cutBoundOf(snapshot.factRevision, question);
    if (!cutBound) {
      ranking.isAnswered = false;
    } else if (const Outcome outcome = work(*cutBound, ranking); !outcome) {
      ranking.rows.clear();
      ranking.why = QString::fromStdString(outcome.error().message);
    }
  } catch (const OverflowError&) {
    ranking.rows.clear();
    ranking.why = RankingTexts::tr("The numbers leave the range in which results are proven exact.");
  } catch (const std::exception& exception) {
    ranking.rows.clear();
    ranking.why = QString::fromUtf8(exception.what());
  }
  return ranking;
}

RankedRow upgradeRow(const PricedLinks& links, const live::Price& price) {
  RankedRow row;
  row.elements.insert(links.ids.begin(), links.ids.end());
  const bool isOne = links.count == 1;
  const QString what = QString::fromStdString(links.group.name);
  row.cells.push_back({what, {}, false, what});
  row.cells.push_back({QString::number(links.count), Rational(links.count), true});
  row.cells.push_back(number(links.bandwidth, decimal(links.bandwidth),
                             RankingTexts::tr("%1 GB/s per direction").arg(exactly(links.bandwidth))));
  QString gain =
      price.raise.isPositive()
          ? (isOne ? RankingTexts::tr("One more GB/s per direction raises the bound by %1 GB/s")
                   : RankingTexts::tr("One more GB/s per direction on every one of them raises the bound by %1 GB/s"))
                .arg(exactly(price.raise))
          : RankingTexts::tr("More bandwidth here gains nothing: the bottleneck is elsewhere");
  const bool hasEnd = price.nextAbove && price.raise.isPositive();
  if (price.nextAbove) {
    gain +=
        u' ' + (price.raise.isPositive() ? RankingTexts::tr("up to %1 GB/s more, where another cut becomes the limit")
                                         : RankingTexts::tr("up to %1 GB/s more"))
                   .arg(exactly(*price.nextAbove));
  }
  row.cells.push_back(
      number(price.raise, price.raise.isPositive() ? u'+' + decimal(price.raise) : RankingTexts::tr("nothing"), gain));
  RankedCell upTo;
  upTo.isNumber = true;
  upTo.toolTip = gain;
  if (price.raise.isPositive()) {
    upTo.text = hasEnd ? decimal(links.bandwidth + *price.nextAbove) : RankingTexts::tr("no limit");
    if (hasEnd) {
      upTo.value = (links.bandwidth + *price.nextAbove).gigabytesPerSecond();
    }
  }
  row.cells.push_back(std::move(upTo));
  row.cells.push_back(number(
      price.lower, price.lower.isPositive() ? u'−' + decimal(price.lower) : RankingTexts::tr("nothing"),
      price.lower.isPositive() ? RankingTexts::tr("One GB/s less lowers the bound by %1 GB/s").arg(exactly(price.lower))
                               : RankingTexts::tr("Less bandwidth here costs nothing at first")));
  return row;
}

QString partName(live::Part part) {
  switch (part) {
    case live::Part::link:
      return RankingTexts::tr("Link");
    case live::Part::nic:
      return RankingTexts::tr("NIC");
    case live::Part::switchNode:
      return RankingTexts::tr("Switch");
    case live::Part::gpu:
      return RankingTexts::tr("GPU");
    case live::Part::box:
      return RankingTexts::tr("Box");
    case live::Part::group:
      return RankingTexts::tr("Group");
  }
  return {};
}

/// As singleFailures, each with the element that fails.
struct ElementFailures {
  std::vector<live::PartFailure> failures;
  std::vector<ElementId> elements;
  std::vector<QString> names;    ///< as the drawing writes them
  std::vector<QString> classes;  ///< the same for parts of the same kind, with ends of the same kinds
};

ElementFailures failuresOf(const Snapshot& snapshot) {
  ElementFailures result;
  result.failures = live::singleFailures(*snapshot.facts);
  std::unordered_map<std::string_view, NodeId> nodes;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    nodes.emplace(snapshot.facts->nodes[i].id, snapshot.nodes[i]);
  }
  std::unordered_map<std::string_view, std::string> kinds;
  for (const fabric::NodeDescription& node : snapshot.facts->nodes) {
    kinds.emplace(node.id, node.kind);
  }
  std::size_t link = 0;
  for (const live::PartFailure& failure : result.failures) {
    // Links come first, in the description's order; those whose bandwidth cannot be read have no bound either.
    if (failure.part == live::Part::link) {
      const fabric::LinkDescription& facts = snapshot.facts->links[link];
      result.elements.emplace_back(snapshot.links[link++]);
      result.names.push_back(QString::fromStdString(facts.src) + (facts.duplex ? u" – "_s : u" → "_s) +
                             QString::fromStdString(facts.dst));
      const auto kindOf = [&](const std::string& name) {
        const auto node = kinds.find(name);
        return node != kinds.end() ? QString::fromStdString(node->second) : QString();
      };
      result.classes.push_back(u"link %1 %2 %3 %4"_s.arg(kindOf(facts.src), kindOf(facts.dst))
                                   .arg(facts.duplex ? 2 : 1)
                                   .arg(QString::fromStdString(facts.bandwidth)));
    } else {
      result.elements.emplace_back(nodes.at(failure.name));
      result.names.push_back(QString::fromStdString(failure.name));
      result.classes.push_back(partName(failure.part));
    }
  }
  return result;
}

}  // namespace

QStringList upgradeHeaders() {
  return {RankingTexts::tr("Links"),
          RankingTexts::tr("Count"),
          RankingTexts::tr("Now, GB/s"),
          RankingTexts::tr("+1 GB/s gains"),
          RankingTexts::tr("Valid up to, GB/s"),
          RankingTexts::tr("−1 GB/s costs")};
}

Ranking rankUpgrades(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
                     const WorkDone& done, std::stop_token stop) {
  return rank(solver, snapshot, question, [&](const live::CutBound& bound, Ranking& ranking) -> Outcome {
    std::vector<PricedLinks> links = linkClassesOf(snapshot);
    for (PricedLinks& single : singleLinksOf(snapshot)) {
      links.push_back(std::move(single));
    }
    std::vector<live::LinkGroup> groups;
    groups.reserve(links.size());
    for (const PricedLinks& entry : links) {
      groups.push_back(entry.group);
    }
    const auto prices = live::rankPrices(bound, groups, progressOf(done, std::move(stop)));
    if (!prices) {
      return prices.error();
    }
    ranking.rows.reserve(prices->size());
    for (const live::RankedPrice& ranked : *prices) {
      ranking.rows.push_back(upgradeRow(links[ranked.group], ranked.price));
    }
    if (!prices->empty() && !prices->front().price.raise.isPositive()) {
      ranking.note = RankingTexts::tr("Several cuts are equally tight: no class of links alone can raise the bound.");
    }
    return Done{};
  });
}

QStringList damageHeaders() {
  return {RankingTexts::tr("Item"), RankingTexts::tr("Kind"), RankingTexts::tr("Loss"),
          RankingTexts::tr("Bound left, GB/s"), RankingTexts::tr("GPUs left")};
}

Ranking rankDamage(const BoundSolver& solver, const Snapshot& snapshot, const Question& question, const WorkDone& done,
                   std::stop_token stop) {
  return rank(solver, snapshot, question, [&](const live::CutBound& bound, Ranking& ranking) -> Outcome {
    const ElementFailures parts = failuresOf(snapshot);
    const auto damages = live::rankFailures(bound, parts.failures, progressOf(done, std::move(stop)));
    if (!damages) {
      return damages.error();
    }
    constexpr std::int64_t kHundred = 100;
    // Parts of one class that cost the same are one row; two of them are not worth it.
    constexpr int kMinAlike = 3;
    std::map<QString, int> alike;
    const auto classOf = [&](const live::Damage& damage) {
      return u"%1 %2 %3 %4"_s.arg(parts.classes[damage.failure], exactly(damage.loss), exactly(damage.algbw))
          .arg(damage.gpuCount);
    };
    for (const live::Damage& damage : *damages) {
      ++alike[classOf(damage)];
    }
    for (const live::Damage& damage : *damages) {
      const live::PartFailure& failure = parts.failures[damage.failure];
      int& count = alike[classOf(damage)];
      if (count == 0) {
        continue;  // stands for by the first of its class
      }
      RankedRow row;
      row.elements = {parts.elements[damage.failure]};
      const QString& name = parts.names[damage.failure];
      const Rational percent = damage.loss * Rational(kHundred);
      QString exact = damage.finding
                          ? QString::fromStdString(damage.finding->text)
                          : RankingTexts::tr("%1 % lost, %2 GB/s left").arg(exactly(percent), exactly(damage.algbw));
      row.cells.push_back(
          {count < kMinAlike ? name : RankingTexts::tr("any of %1 like %2").arg(count).arg(name), {}, false, name});
      count = count < kMinAlike ? count : 0;
      row.cells.push_back({partName(failure.part), {}, false, exact});
      row.cells.push_back(number(damage.loss, decimal(percent) + u" %"_s, exact));
      row.cells.push_back(
          number(damage.algbw, damage.algbw.isZero() ? RankingTexts::tr("none") : decimal(damage.algbw), exact));
      row.cells.push_back({QString::number(damage.gpuCount), Rational(damage.gpuCount), true, exact});
      ranking.rows.push_back(std::move(row));
    }
    return Done{};
  });
}

RankingModel::RankingModel(QStringList headers, QObject* parent)
    : QAbstractTableModel(parent), m_headers(std::move(headers)) {}

void RankingModel::setRows(std::vector<RankedRow> rows) {
  beginResetModel();
  m_rows = std::move(rows);
  endResetModel();
}

bool RankingModel::isLess(const QModelIndex& a, const QModelIndex& b) const {
  const RankedCell* left = cellAt(a);
  const RankedCell* right = cellAt(b);
  if (left == nullptr || right == nullptr) {
    return false;
  }
  if (!left->isNumber || !right->isNumber) {
    return QString::localeAwareCompare(left->text, right->text) < 0;
  }
  return left->value && right->value ? *left->value < *right->value : left->value.has_value();
}

const RankedCell* RankingModel::cellAt(const QModelIndex& index) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) {
    return nullptr;
  }
  return &m_rows[index.row()].cells[index.column()];
}

int RankingModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RankingModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_headers.size());
}

QVariant RankingModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= m_headers.size()) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    // As what is below.
    const bool isNumber = section > 0 && (m_rows.empty() || m_rows.front().cells[section].isNumber);
    return QVariant((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  // The whole of a head that has no room.
  return role == Qt::DisplayRole || role == Qt::ToolTipRole ? QVariant(m_headers[section]) : QVariant();
}

QVariant RankingModel::data(const QModelIndex& index, int role) const {
  const RankedCell* cell = cellAt(index);
  if (cell == nullptr) {
    return {};
  }
  switch (role) {
    case Qt::DisplayRole:
      return cell->text;
    case Qt::ToolTipRole:
      return cell->toolTip.isEmpty() ? QVariant() : QVariant(cell->toolTip);
    case Qt::TextAlignmentRole:
      return QVariant(cell->isNumber ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    case kElementRole: {
      const std::set<ElementId>& elements = m_rows[index.row()].elements;
      return elements.empty() ? QVariant() : QVariant::fromValue(*elements.begin());
    }
    default:
      return {};
  }
}

}  // namespace coppice::designer

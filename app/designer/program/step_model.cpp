// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/step_model.hpp"

#include <QFont>
#include <array>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/program/program_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using program::StepPlace;

QString peerText(int peer) {
  return peer < 0 ? QString() : StepModel::tr("rank %1").arg(peer);
}

}  // namespace

void StepModel::setReading(ProgramReadingPtr reading) {
  beginResetModel();
  m_reading = std::move(reading);
  m_rank.reset();
  m_firstBlock.clear();
  m_rankOfBlock.clear();
  m_faulty.clear();
  if (m_reading) {
    const auto& all = m_reading->program().ranks;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      m_firstBlock.push_back(m_rankOfBlock.size());
      m_rankOfBlock.insert(m_rankOfBlock.end(), all[rank].threadBlocks.size(), static_cast<int>(rank));
    }
    for (const verify::RingStep& step : m_reading->study().ring) {
      m_faulty.insert(step.place);
    }
    if (const auto& wrong = m_reading->study().firstWrong; wrong && wrong->place) {
      m_faulty.insert(*wrong->place);
    }
  }
  endResetModel();
}

void StepModel::setTrees(std::set<TreeRef> trees) {
  // Rows stay where they are; tints and counts of all levels change.
  Q_EMIT layoutAboutToBeChanged();
  m_trees = std::move(trees);
  Q_EMIT layoutChanged();
}

void StepModel::setRank(std::optional<int> rank) {
  if (rank == m_rank) {
    return;
  }
  beginResetModel();
  m_rank = rank;
  endResetModel();
}

int StepModel::ranks() const {
  return static_cast<int>(m_firstBlock.size());
}

int StepModel::rankOf(const QModelIndex& index) const {
  const auto id = static_cast<std::size_t>(index.internalId());
  if (id == 0) {
    return m_rank.value_or(index.row());
  }
  const auto all = static_cast<std::size_t>(ranks());
  return id <= all ? static_cast<int>(id - 1) : m_rankOfBlock[id - 1 - all];
}

std::optional<StepPlace> StepModel::placeAt(const QModelIndex& index) const {
  const auto id = static_cast<std::size_t>(index.internalId());
  const auto all = static_cast<std::size_t>(ranks());
  if (!index.isValid() || id <= all) {
    return std::nullopt;
  }
  const std::size_t block = id - 1 - all;
  const int rank = m_rankOfBlock[block];
  return StepPlace{rank, static_cast<int>(block - m_firstBlock[rank]), index.row()};
}

QModelIndex StepModel::indexOf(const StepPlace& place) const {
  if (!m_reading || !program::exists(m_reading->program(), place) || (m_rank && *m_rank != place.rank)) {
    return {};
  }
  const std::size_t block = m_firstBlock[place.rank] + static_cast<std::size_t>(place.threadBlock);
  return createIndex(place.step, 0, static_cast<quintptr>(1 + static_cast<std::size_t>(ranks()) + block));
}

QModelIndex StepModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) {
    return {};
  }
  if (!parent.isValid()) {
    return createIndex(row, column, quintptr{0});
  }
  const int rank = rankOf(parent);
  if (parent.internalId() == 0) {
    return createIndex(row, column, static_cast<quintptr>(1 + rank));
  }
  const std::size_t block = m_firstBlock[rank] + static_cast<std::size_t>(parent.row());
  return createIndex(row, column, static_cast<quintptr>(1 + static_cast<std::size_t>(ranks()) + block));
}

QModelIndex StepModel::parent(const QModelIndex& index) const {
  const auto id = static_cast<std::size_t>(index.internalId());
  if (!index.isValid() || id == 0) {
    return {};
  }
  const int rank = rankOf(index);
  const auto all = static_cast<std::size_t>(ranks());
  if (id <= all) {
    return createIndex(m_rank ? 0 : rank, 0, quintptr{0});
  }
  const std::size_t block = id - 1 - all;
  return createIndex(static_cast<int>(block - m_firstBlock[rank]), 0, static_cast<quintptr>(1 + rank));
}

int StepModel::rowCount(const QModelIndex& parent) const {
  if (!m_reading || parent.column() > 0) {
    return 0;
  }
  if (!parent.isValid()) {
    return m_rank ? 1 : ranks();
  }
  if (placeAt(parent)) {
    return 0;
  }
  const auto& blocks = m_reading->program().ranks[rankOf(parent)].threadBlocks;
  return static_cast<int>(parent.internalId() == 0 ? blocks.size() : blocks[parent.row()].steps.size());
}

int StepModel::columnCount(const QModelIndex& /*parent*/) const {
  return kColumns;
}

QString StepModel::textOfRank(int rank, int column) const {
  const program::RankProgram& all = m_reading->program().ranks[rank];
  switch (column) {
    case kName:
      return tr("Rank %1").arg(rank);
    case kType:
      return counted(static_cast<qsizetype>(all.threadBlocks.size()), tr("threadblock"), tr("threadblocks"));
    case kSource:
      return u"i[%1] o[%2] s[%3]"_s.arg(all.inputChunks).arg(all.outputChunks).arg(all.scratchChunks);
    default:
      return {};
  }
}

QString StepModel::textOfBlock(int rank, int block, int column) const {
  const program::ThreadBlock& one = m_reading->program().ranks[rank].threadBlocks[block];
  switch (column) {
    case kName:
      return tr("Threadblock %1").arg(block);
    case kType:
      return counted(static_cast<qsizetype>(one.steps.size()), tr("step"), tr("steps"));
    case kSend:
      return peerText(one.sendPeer);
    case kReceive:
      return peerText(one.recvPeer);
    case kChannel:
      return QString::number(one.channel);
    default:
      return {};
  }
}

QString StepModel::textOfStep(const StepPlace& place, int column) const {
  const program::ThreadBlock& block = m_reading->program().ranks[place.rank].threadBlocks[place.threadBlock];
  const program::Step& step = block.steps[place.step];
  switch (column) {
    case kName:
      return tr("Step %1").arg(place.step);
    case kType: {
      const std::string_view type = program::toString(step.type);
      return QString::fromUtf8(type.data(), static_cast<qsizetype>(type.size()));
    }
    case kSend:
      return program::sends(step.type) ? peerText(block.sendPeer) : QString();
    case kReceive:
      return program::receives(step.type) ? peerText(block.recvPeer) : QString();
    case kChannel:
      return QString::number(block.channel);
    case kSource:
      return program::usesSource(step.type) ? QString::fromStdString(program::slotText(step.src, step.count))
                                            : QString();
    case kDestination:
      return program::usesDestination(step.type) ? QString::fromStdString(program::slotText(step.dst, step.count))
                                                 : QString();
    case kCount:
      return QString::number(step.count);
    case kWaits:
      return step.dependsOnTb < 0 ? QString()
                                  : tr("threadblock %1, step %2").arg(step.dependsOnTb).arg(step.dependsOnStep);
    case kServes:
      return treeNames(m_reading->treesOf(place), m_treeName);
    default:
      return {};
  }
}

QVariant StepModel::data(const QModelIndex& index, int role) const {
  if (!m_reading || !index.isValid()) {
    return {};
  }
  const auto place = placeAt(index);
  const int rank = rankOf(index);
  if (role == Qt::DisplayRole) {
    return place                     ? textOfStep(*place, index.column())
           : index.internalId() == 0 ? textOfRank(rank, index.column())
                                     : textOfBlock(rank, index.row(), index.column());
  }
  if (!place) {
    return {};
  }
  const bool isFaulty = m_faulty.count(*place) != 0;
  if (role == Qt::BackgroundRole && m_reading->serves(*place, m_trees)) {
    return Theme::instance().color(Token::accentSoft);
  }
  if (role == Qt::ForegroundRole && isFaulty) {
    return Theme::instance().color(Token::error);
  }
  if (role == Qt::FontRole && isFaulty) {
    return uiFont(13, QFont::DemiBold);
  }
  if (role == Qt::ToolTipRole && index.column() == kType) {
    const auto& steps = m_reading->program().ranks[place->rank].threadBlocks[place->threadBlock].steps;
    return stepMeaning(steps[place->step].type);
  }
  return {};
}

QVariant StepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) {
    return {};
  }
  static const std::array<std::pair<const char*, const char*>, kColumns> kTexts{{
      {QT_TR_NOOP("Where"), QT_TR_NOOP("Ranks, their threadblocks, their steps")},
      {QT_TR_NOOP("Type"), QT_TR_NOOP("Type of the step, as in the MSCCL XML")},
      {QT_TR_NOOP("Sends to"), QT_TR_NOOP("Send peer")},
      {QT_TR_NOOP("Receives from"), QT_TR_NOOP("Receive peer")},
      {QT_TR_NOOP("Channel"), QT_TR_NOOP("Channel of the threadblock's connections")},
      {QT_TR_NOOP("Source"), QT_TR_NOOP("Chunks that it reads: i = input, o = output, s = scratch")},
      {QT_TR_NOOP("Destination"), QT_TR_NOOP("Chunks that it writes: i = input, o = output, s = scratch")},
      {QT_TR_NOOP("Chunks"), QT_TR_NOOP("How many chunks it moves")},
      {QT_TR_NOOP("Depends on"), QT_TR_NOOP("The step of the same rank whose flag it waits for")},
      {QT_TR_NOOP("Trees"), QT_TR_NOOP("Trees of the schedule that the step serves")},
  }};
  const auto& [title, tip] = kTexts[section];
  return tr(role == Qt::DisplayRole ? title : tip);
}

}  // namespace coppice::designer

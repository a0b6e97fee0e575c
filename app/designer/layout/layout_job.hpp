// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "base/result.hpp"
#include "designer/document/arrangement.hpp"
#include "designer/document/document.hpp"
#include "designer/jobs/latest_job.hpp"

namespace coppice::designer {

enum class LayoutKind {
  best,      ///< by the structure of the fabric (ArrangementStyle::tiered)
  rails,     ///< ArrangementStyle::rails
  circle,    ///< ArrangementStyle::circle
  grid,      ///< ArrangementStyle::grid
  distance,  ///< layersByDistance() from the selected nodes
  layered,   ///< Graphviz dot
  force,     ///< Graphviz fdp, sfdp beyond a few hundred nodes
  circular,  ///< Graphviz circo
};

/// The nodes that a layout of these elements is about: themselves and what is in their boxes; everything where there
/// are none.
[[nodiscard]] std::vector<NodeId> nodesToArrange(const Model& model, const std::set<ElementId>& elements);

/// New places of the nodes, moved to where they are wanted (rearranged()). Pinned nodes have none. Meant for any
/// thread. @param sources for LayoutKind::distance; empty = the first GPU. Errors: cancelled; badUsage for boxes by
/// distance; for Graphviz those of laidOut().
[[nodiscard]] Result<std::map<NodeId, Point>> computeLayout(
    const Model& model, const std::vector<NodeId>& ids, LayoutKind kind, std::stop_token stop = {},
    std::chrono::milliseconds timeLimit = std::chrono::seconds(20), const std::set<NodeId>& sources = {});

/// Sets the places. Frames of boxes whose contents all have places go, as they stood around the old ones.
void applyLayout(Edit& edit, const std::map<NodeId, Point>& places);

/// Arranges a document from the side: computed off the UI thread, then one undoable command. A newer order takes the
/// place of the running one.
class LayoutJob : public QObject {
  Q_OBJECT

public:
  explicit LayoutJob(QObject* parent = nullptr);

  /// Nothing happens where the document is gone when the answer comes.
  void submit(Document& document, const std::set<ElementId>& elements, LayoutKind kind);
  void cancel();
  [[nodiscard]] bool isRunning() const { return m_job.isRunning(); }

Q_SIGNALS:
  /// For the status strip.
  void statusMessage(const QString& words);
  /// Just before the document changes: the moment to remember where things stood.
  void aboutToMove(coppice::designer::Document* document);
  /// Places were set, were refused, or work was stopped.
  void finished();

private:
  struct Answer {
    Result<std::map<NodeId, Point>> places;
    QString name;
    std::uint64_t revision = 0;
  };
  void take(Answer answer);

  QPointer<Document> m_document;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/document/followed.hpp"
#include "designer/workspace/feature.hpp"

class QAction;
class QComboBox;
class QToolBar;

namespace coppice::designer {

class BoundCard;

/// The bound of the current document: its card, the cut on the drawing, and the question it answers.
class BoundFeature : public Feature {
  Q_OBJECT

public:
  explicit BoundFeature(const FeatureHost& host);
  /// The collective, and the root of broadcast and reduce.
  void addQuestionTo(QToolBar& bar);

private:
  void follow();
  void showQuestion();
  void fillRoots();

  BoundCard* m_card;
  QComboBox* m_collectives = nullptr;
  QComboBox* m_roots = nullptr;
  QAction* m_rootsAction = nullptr;
  QPointer<LiveBound> m_bound;
  Followed m_followed;  ///< connections to the document
  Question m_shown;
};

}  // namespace coppice::designer

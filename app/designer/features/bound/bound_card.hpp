// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QListWidget>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

class UpgradeBarsView;

/// The number that matters, its exact fraction, why it is so with the formula filled in, the tied cuts as chips, what
/// would help, and the cut ratio of what is selected. Nouns of the sentence select what they name; a click on a chip
/// shows that cut, a double click selects what is inside it.
class BoundCard : public QScrollArea {
  Q_OBJECT

public:
  explicit BoundCard(QWidget* parent = nullptr);
  void setContext(EditorContext* editor);

protected:
  void resizeEvent(QResizeEvent* event) override;

private:
  // ---- built once, by the constructor
  void setUpFigures();
  void setUpReasons();
  void setUpCuts();
  void layOut(QWidget* body);
  void fillReason(QWidget* body);

  void refresh();
  /// A switch that copies or sums.
  [[nodiscard]] bool hasAbleSwitch() const;
  void showCut();
  void showLens();
  void fitChips();
  void showAllChips();
  /// "senders", "place" or "links" of the shown cut.
  void choose(const QString& noun);
  [[nodiscard]] const CutView* shownCut() const;

  QPointer<EditorContext> m_editor;
  Followed m_followed;  ///< connections to the document
  QLabel* m_number;
  QLabel* m_unit;
  QLabel* m_state;
  QLabel* m_exact;
  QCheckBox* m_plain;  ///< takes switches as plain, where they can do more and that matters
  QLabel* m_assumption;
  QWidget* m_reason;
  QLabel* m_why;
  QLabel* m_formula;
  QLabel* m_cutsHead;
  QLabel* m_cutsCount;
  QListWidget* m_cuts;
  QPushButton* m_moreCuts;
  QLabel* m_upgradesHead;
  UpgradeBarsView* m_upgrades;
  QLabel* m_lensHead;
  QLabel* m_lens;
  bool m_areAllChipsShown = true;
};

}  // namespace coppice::designer

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDateTime>
#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <memory>
#include <vector>

#include "designer/document/model.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/palette/fabric_picture.hpp"
#include "designer/workspace/prompts.hpp"

namespace coppice::designer {

/// A document that the program left unsaved when it ended.
struct RecoveryItem {
  QString name;
  QString path;       ///< empty = untitled
  QDateTime time;     ///< of the last change
  int changes = 0;    ///< since the last save
  int schedules = 0;  ///< that were not saved
  std::shared_ptr<const Model> model;
};

/// All of them, with picture, time and number of changes: restored or discarded together or one by one.
class RecoveryDialog : public QDialog {
  Q_OBJECT

public:
  explicit RecoveryDialog(std::vector<RecoveryItem> items, QWidget* parent = nullptr);
  ~RecoveryDialog() override;

  /// For each item; `later` for all while nothing is chosen.
  [[nodiscard]] const std::vector<RecoveryChoice>& choices() const { return m_choices; }
  /// "1 unsaved change to an untitled fabric", "2 unsaved changes to a.fabric.json and 1 unsaved schedule".
  [[nodiscard]] static QString lossOf(const RecoveryItem& item);

private:
  void fillList();
  void askToDiscard();
  void follow();
  void orderPicture();
  void showPictures();
  void take(RecoveryChoice choice);
  [[nodiscard]] int checkedCount() const;

  std::vector<RecoveryItem> m_items;
  std::vector<FabricPicture> m_pictures;
  std::vector<RecoveryChoice> m_choices;
  std::size_t m_next = 0;  ///< whose picture is made
  QListWidget* m_list;
  QPushButton* m_discard;
  QPushButton* m_restore;
  LatestJob<std::shared_ptr<const FabricPicture>> m_job;
};

}  // namespace coppice::designer

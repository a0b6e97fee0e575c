// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QRadioButton>
#include <QSpinBox>
#include <QTableWidget>
#include <QVBoxLayout>
#include <memory>
#include <optional>
#include <vector>

#include "designer/document/selection.hpp"
#include "designer/schedules/option_form.hpp"
#include "designer/schedules/schedule_book.hpp"

namespace coppice::designer {

/// The settings of F5. Not modal: it follows the document, its selection and the collective of the tool bar, and can
/// stay open while schedules are made.
class GenerateDialog : public QDialog {
  Q_OBJECT

public:
  explicit GenerateDialog(QWidget* parent = nullptr);
  ~GenerateDialog() override;

  /// All or none. They must live until others take their place.
  void setSubject(ScheduleBook* book, DocumentFile* file, Selection* selection, LiveBound* bound);
  /// What the widgets say.
  [[nodiscard]] ScheduleOptions options() const;

Q_SIGNALS:
  void started();

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Found {
    std::int64_t k = 0;
    std::optional<KValue> value;
    QString why;
  };
  void setUpSubject();
  void setUpTreeCounts();
  void setUpTable();
  void setUpLimits();
  [[nodiscard]] QLayout* makeForm();
  void layOutForestColl();
  void layOut();
  void connectAll();
  void fill();
  void fillGpus(const ScheduleOptions& options);
  void fillForestColl(const ScheduleOptions& options);
  void refill();
  void remember();
  void follow();
  void receive(const Found& found);
  void restartScan();
  void updateWidgets();
  void judgeAmounts();
  void judgeCount();
  [[nodiscard]] std::vector<std::string> selectedGpus() const;
  /// For workflow::parseSizes.
  [[nodiscard]] std::string sizesText() const;

  QPointer<ScheduleBook> m_book;
  QPointer<DocumentFile> m_file;
  QPointer<Selection> m_selection;
  QPointer<LiveBound> m_bound;
  std::unique_ptr<QObject> m_followed;  ///< ends the connections to the document
  bool m_isFilling = false;
  std::vector<std::string> m_chosenBefore;

  /// Fields for the options of another method than ForestColl.
  void showMethod();

  QLabel* m_collective;
  QComboBox* m_method;
  QLabel* m_methodLabel;
  QLabel* m_methodText;             ///< what it is, or why it cannot be used here
  QWidget* m_forestColl;            ///< ForestColl's settings
  OptionForm* m_options = nullptr;  ///< those of any other method
  std::string m_shownMethod = workflow::kDefaultMethod;
  QVBoxLayout* m_pages;
  QLabel* m_rootLabel;
  QComboBox* m_root;
  QComboBox* m_gpus;
  QLabel* m_amountsLabel;
  QLineEdit* m_amounts;
  QLabel* m_amountsFault;
  QRadioButton* m_exact;
  QRadioButton* m_fixed;
  QRadioButton* m_scan;
  QRadioButton* m_bySizes;
  QRadioButton* m_byLoss;
  QComboBox* m_sizes;
  QLineEdit* m_loss;
  QLabel* m_countFault;
  QSpinBox* m_k;
  QSpinBox* m_maxK;
  QTableWidget* m_table;
  QLabel* m_scanState;
  QCheckBox* m_capsHeight;
  QSpinBox* m_height;
  QSpinBox* m_effort;
  QCheckBox* m_limitsPeers;
  QSpinBox* m_peers;
  QCheckBox* m_multicast;
  QPushButton* m_generate;

  std::vector<KValue> m_values;
  std::int64_t m_ordered = 0;
  /// What the values are about.
  std::optional<ScheduleOptions> m_scanned;
  std::uint64_t m_scanRevision = 0;
  QPointer<DocumentFile> m_scanFile;
  LatestJob<Found> m_job;
};

}  // namespace coppice::designer

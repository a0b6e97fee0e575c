// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>
#include <optional>
#include <vector>

#include "designer/document/followed.hpp"
#include "designer/document/selection.hpp"
#include "designer/schedules/option_form.hpp"
#include "designer/schedules/schedule_book.hpp"

namespace coppice::designer {

/// The dock "Methods", the settings of F5: all methods by what they are good for, what the chosen one is or why it
/// cannot be used here, and its options. It follows the document, its selection and the collective of the tool bar.
class MethodsPanel : public QWidget {
  Q_OBJECT

public:
  explicit MethodsPanel(QWidget* parent = nullptr);
  ~MethodsPanel() override;

  /// All or none. They must live until others take their place.
  void setSubject(ScheduleBook* book, DocumentFile* file, Selection* selection, LiveBound* bound);
  /// What the widgets say.
  [[nodiscard]] ScheduleOptions options() const;

Q_SIGNALS:
  void started();
  void closeWanted();
  /// The sketch that the method searches within is to be drawn.
  void sketchWanted();
  /// A search over all numbers of steps is wanted.
  void searchWanted();

protected:
  void showEvent(QShowEvent* event) override;
  /// Enter generates, Esc closes.
  void keyPressEvent(QKeyEvent* event) override;

private:
  struct Found {
    std::int64_t k = 0;
    std::optional<KValue> value;
    QString why;
  };
  void setUpSubject();
  [[nodiscard]] QWidget* makeTable();
  [[nodiscard]] QLayout* makeForm();
  void layOut();
  /// What the method reaches on this fabric, as far as it is known; empty where it is not.
  [[nodiscard]] QString expected() const;
  void connectAll();
  void fill();
  void fillGpus(const ScheduleOptions& options);
  void fillMulticast();
  /// Headings, and which methods make the collective.
  void fillMethods();
  void markMethods();
  void chooseMethod(const std::string& id);
  void refill();
  void remember();
  void follow();
  void receive(const Found& found);
  void restartScan();
  void updateWidgets();
  void judgeAmounts();
  [[nodiscard]] std::vector<std::string> selectedGpus() const;
  /// The method that is shown.
  [[nodiscard]] const workflow::Method& method() const;
  /// How many k are tried and listed; 0 = none.
  [[nodiscard]] std::int64_t scannedK() const;

  QPointer<ScheduleBook> m_book;
  QPointer<DocumentFile> m_file;
  QPointer<Selection> m_selection;
  QPointer<LiveBound> m_bound;
  Followed m_followed;  ///< connections to the document
  bool m_isFilling = false;
  std::vector<std::string> m_chosenBefore;

  /// Fields for the options of the method.
  void showMethod();
  void orderTabs();

  QLabel* m_collective;
  QComboBox* m_method;
  QLabel* m_methodLabel;
  QLabel* m_methodText;  ///< what it is, or why it cannot be used here
  OptionForm* m_options = nullptr;
  std::string m_shownMethod;
  QVBoxLayout* m_pages;
  QLabel* m_rootLabel;
  QComboBox* m_root;
  QComboBox* m_gpus;
  QLabel* m_amountsLabel;
  QLineEdit* m_amounts;
  QLabel* m_amountsFault;
  QLabel* m_failure;               ///< of what was generated last
  QPointer<QTableWidget> m_table;  ///< of ForestColl's form: each k that was tried
  QPointer<QLabel> m_scanState;
  QPushButton* m_sketch;
  QPushButton* m_search;
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

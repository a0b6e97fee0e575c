// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <optional>
#include <vector>

class QPagedPaintDevice;
class QWidget;

namespace coppice::designer {

struct ForeignText;
struct ReadModel;
struct RecoveryItem;
enum class RecoveryChoice { later, restore, discard };

/// Every question that the window asks with a dialog of its own, in one place, so that a test or a script can answer
/// without one.
class Prompts {
public:
  Prompts() = default;
  Prompts(const Prompts&) = delete;
  Prompts& operator=(const Prompts&) = delete;
  virtual ~Prompts() = default;

  enum class Unsaved { save, discard, cancel };
  virtual Unsaved unsavedChanges(QWidget* parent, const QString& name);
  /// Which of several documents are saved, in one dialog: by document; the others lose their changes. nullopt =
  /// cancelled.
  virtual std::optional<std::vector<bool>> unsavedDocuments(QWidget* parent, const QStringList& names);
  /// Files to open; empty = cancelled.
  virtual QStringList filesToOpen(QWidget* parent, const QString& folder, const QString& filter);
  /// Where to save; empty = cancelled.
  virtual QString fileToSave(QWidget* parent, const QString& suggestion, const QString& filter);
  /// A folder that exists; empty = cancelled.
  virtual QString folder(QWidget* parent, const QString& title, const QString& folder);
  virtual std::optional<QString> text(QWidget* parent, const QString& title, const QString& label,
                                      const QString& value);
  virtual std::optional<int> number(QWidget* parent, const QString& title, const QString& label, int value, int min,
                                    int max);
  /// true = the first, false = the second; nullopt = cancelled.
  virtual std::optional<bool> choice(QWidget* parent, const QString& title, const QString& text, const QString& first,
                                     const QString& second);
  /// What the text leaves open (boxes, network, rates); nullopt = cancelled.
  virtual std::optional<ReadModel> import(QWidget* parent, const ForeignText& text);
  /// What to do with each document that a crash left unsaved.
  virtual std::vector<RecoveryChoice> recovery(QWidget* parent, const std::vector<RecoveryItem>& items);
  /// Asks for a printer and draws a page on it; false = cancelled.
  virtual bool print(QWidget* parent, const std::function<void(QPagedPaintDevice&)>& draw);
  virtual void failure(QWidget* parent, const QString& title, const QString& text);
};

}  // namespace coppice::designer

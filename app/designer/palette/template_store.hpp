// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <set>
#include <vector>

#include "designer/document/model.hpp"
#include "designer/palette/entries.hpp"

namespace coppice::designer {

/// A person's own templates: one `.fabric.json` each in a folder, which may be shared or edited by other means.
class TemplateStore : public QObject {
  Q_OBJECT

public:
  /// @param folder made when the first template is saved; empty = there are none and none can be saved
  explicit TemplateStore(const QString& folder, QObject* parent = nullptr);

  /// By name.
  [[nodiscard]] const std::vector<PaletteEntry>& entries() const { return m_entries; }
  /// nullptr if there is none.
  [[nodiscard]] const PaletteEntry* find(const QString& id) const;
  /// Under a name that is still free. Errors: badUsage for nothing or no name, those of writing. Returns the id.
  Result<QString> save(const QString& name, const Model& model, const std::set<ElementId>& elements);
  /// Moves it to the desktop's trash where there is one, else deletes it.
  bool remove(const QString& id);

Q_SIGNALS:
  void changed();

private:
  void read();

  QString m_folder;
  std::vector<PaletteEntry> m_entries;
  QFileSystemWatcher m_watcher;
};

}  // namespace coppice::designer

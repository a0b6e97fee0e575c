// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/template_store.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <filesystem>

#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

const QString kSuffix = u".fabric.json"_s;

/// A name that every file system takes.
QString fileNameOf(const QString& name) {
  QString result;
  for (const QChar c : name.simplified()) {
    result += c.isLetterOrNumber() || u" -_.,()"_s.contains(c) ? c : QChar(u'_');
  }
  while (result.startsWith(u'.')) {
    result.remove(0, 1);
  }
  constexpr int kMax = 80;
  return result.left(kMax).trimmed();
}

}  // namespace

TemplateStore::TemplateStore(const QString& folder, QObject* parent) : QObject(parent), m_folder(folder) {
  connect(&m_watcher, &QFileSystemWatcher::directoryChanged, this, [this] {
    read();
    Q_EMIT changed();
  });
  read();
}

void TemplateStore::read() {
  m_entries.clear();
  const QDir folder(m_folder);
  if (m_folder.isEmpty() || !folder.exists()) {
    return;
  }
  if (m_watcher.directories().isEmpty()) {
    m_watcher.addPath(m_folder);
  }
  for (const QFileInfo& file : folder.entryInfoList({u'*' + kSuffix}, QDir::Files, QDir::Name)) {
    PaletteEntry entry;
    entry.kind = PaletteEntry::Kind::own;
    entry.title = file.fileName().chopped(kSuffix.size());
    entry.id = u"own/"_s + entry.title;
    entry.group = QCoreApplication::translate("Palette", "Yours");
    entry.path = file.absoluteFilePath();
    entry.tip = QDir::toNativeSeparators(entry.path);
    m_entries.push_back(std::move(entry));
  }
}

const PaletteEntry* TemplateStore::find(const QString& id) const {
  const auto found =
      std::find_if(m_entries.begin(), m_entries.end(), [&](const PaletteEntry& entry) { return entry.id == id; });
  return found != m_entries.end() ? &*found : nullptr;
}

Result<QString> TemplateStore::save(const QString& name, const Model& model, const std::set<ElementId>& elements) {
  const Model part = edits::extract(model, elements);
  if (part.nodes().isEmpty() && part.boxes().isEmpty() && part.notes().isEmpty()) {
    return Error{ErrorCode::badUsage, "the selection contains nothing that a template can store",
                 "select nodes or boxes first"};
  }
  const QString wanted = fileNameOf(name);
  if (wanted.isEmpty()) {
    return Error{ErrorCode::badUsage, "a template needs a name", "type at least one letter or digit"};
  }
  if (m_folder.isEmpty() || !QDir().mkpath(m_folder)) {
    return Error{ErrorCode::io, "the folder of templates cannot be created", "check that your home folder is writable",
                 Place{.file = m_folder.toStdString()}};
  }
  QString free = wanted;
  for (int number = 2; QFileInfo::exists(QDir(m_folder).filePath(free + kSuffix)); ++number) {
    free = u"%1 %2"_s.arg(wanted).arg(number);
  }
  const QString path = QDir(m_folder).filePath(free + kSuffix);
  if (const Outcome saved = io::saveFile(QFile::encodeName(path).toStdString(), writeFabricFile(part)); !saved) {
    return saved.error();
  }
  read();
  Q_EMIT changed();
  return u"own/"_s + free;
}

bool TemplateStore::remove(const QString& id) {
  const PaletteEntry* entry = find(id);
  if (entry == nullptr) {
    return false;
  }
  const bool isGone = QFile::remove(entry->path);
  read();
  Q_EMIT changed();
  return isGone;
}

}  // namespace coppice::designer

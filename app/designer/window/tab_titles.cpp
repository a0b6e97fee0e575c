// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/tab_titles.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "designer/workspace/editor_context.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(MainWindow)
};

/// The folders of the path, the innermost first; empty for an untitled document.
QStringList foldersOf(const QString& path) {
  QStringList folders = path.isEmpty() ? QStringList() : QFileInfo(path).absolutePath().split(u'/', Qt::SkipEmptyParts);
  std::reverse(folders.begin(), folders.end());
  return folders;
}

/// The smallest part of the folders that tells the path from the others.
QString differenceOf(const QString& path, const QStringList& others) {
  const QStringList folders = foldersOf(path);
  qsizetype depth = 1;
  for (const QString& other : others) {
    const QStringList otherFolders = foldersOf(other);
    qsizetype same = 0;
    while (same < std::min(folders.size(), otherFolders.size()) && folders[same] == otherFolders[same]) {
      ++same;
    }
    depth = std::max(depth, same + 1);
  }
  QStringList shown = folders.mid(0, depth);
  std::reverse(shown.begin(), shown.end());
  return shown.join(QDir::separator());
}

}  // namespace

QStringList tabTitles(const std::vector<EditorContext*>& editors) {
  QStringList titles;
  for (EditorContext* editor : editors) {
    const DocumentFile& file = editor->file();
    QStringList others;
    for (EditorContext* other : editors) {
      if (other != editor && other->file().displayName() == file.displayName()) {
        others << other->file().path();
      }
    }
    QString title = file.displayName();
    if (!others.isEmpty() && !file.path().isEmpty()) {
      title += u" — "_s + differenceOf(file.path(), others);
    }
    if (file.isReadOnly()) {
      title += u' ' + Texts::tr("(read-only)");
    }
    titles << title + (file.isModified() ? u" •"_s : QString());
  }
  return titles;
}

}  // namespace coppice::designer

// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/launch_bundle.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr QFile::Permissions kText = QFile::ReadOwner | QFile::WriteOwner | QFile::ReadGroup | QFile::ReadOther;
constexpr QFile::Permissions kProgram = kText | QFile::ExeOwner | QFile::ExeGroup | QFile::ExeOther;

Outcome failed(const QString& path) {
  return Error{ErrorCode::io, path.toStdString() + " cannot be written", "check the folder and the free space"};
}

Outcome fill(const QString& folder, const program::RunRequest& request, const remote::BundleFacts& facts,
             const QByteArray& schedule, const ExecutorFiles* executor) {
  const auto write = [&](const QString& name, const QByteArray& bytes, bool isProgram) {
    QFile file(folder + u'/' + name);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.flush() &&
           file.setPermissions(isProgram ? kProgram : kText);
  };
  for (const auto& [name, file] : remote::bundleFiles(request, facts)) {
    if (!write(QString::fromStdString(name), QByteArray::fromStdString(file.text), file.isProgram)) {
      return failed(folder);
    }
  }
  if (!write(QString::fromStdString(request.schedule), schedule, false)) {
    return failed(folder);
  }
  if (executor != nullptr) {
    for (const ExecutorFiles::File& file : executor->files) {
      const QString target = folder + u'/' + QString::fromStdString(file.name);
      if (!QFile::copy(file.path, target) || !QFile::setPermissions(target, kProgram)) {
        return failed(target);
      }
    }
  }
  return Done{};
}

}  // namespace

Outcome writeBundle(const QString& path, const program::RunRequest& request, const remote::BundleFacts& facts,
                    const QByteArray& schedule, const ExecutorFiles* executor) {
  if (const auto faults = program::faultsOf(request); !faults.empty()) {
    return Error{faults.front().code, faults.front().text, faults.front().fix};
  }
  const bool isTar = path.endsWith(u".tar"_s);
  const bool isPacked = path.endsWith(u".tar.gz"_s) || path.endsWith(u".tgz"_s);
  if (!isTar && !isPacked) {
    const QFileInfo info(path);
    if (info.exists() && (!info.isDir() || !QDir(path).isEmpty())) {
      return Error{ErrorCode::badUsage, path.toStdString() + " is there already", "choose a new name"};
    }
    return QDir().mkpath(path) ? fill(path, request, facts, schedule, executor) : failed(path);
  }
  QTemporaryDir place;
  QString name = QFileInfo(path).fileName();
  name.truncate(name.lastIndexOf(isTar ? u".tar"_s : (path.endsWith(u".tgz"_s) ? u".tgz"_s : u".tar.gz"_s)));
  if (name.isEmpty() || name.startsWith(u'-')) {
    name = u"coppice-run"_s;
  }
  const QString folder = place.filePath(name);
  if (!place.isValid() || !QDir().mkdir(folder)) {
    return failed(place.path());
  }
  if (Outcome filled = fill(folder, request, facts, schedule, executor); !filled) {
    return filled;
  }
  QProcess tar;
  tar.start(u"tar"_s, {isPacked ? u"-czf"_s : u"-cf"_s, QFileInfo(path).absoluteFilePath(), u"-C"_s, place.path(),
                       u"--"_s, name});
  constexpr int kPatience = 120'000;
  if (!tar.waitForStarted() || !tar.waitForFinished(kPatience) || tar.exitCode() != 0) {
    return Error{ErrorCode::io,
                 "tar could not write the archive: " + tar.readAllStandardError().trimmed().toStdString(),
                 "save it as a folder"};
  }
  return Done{};
}

}  // namespace coppice::designer

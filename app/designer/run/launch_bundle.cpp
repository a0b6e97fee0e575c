// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/launch_bundle.hpp"

#include <unistd.h>

#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "io/files.hpp"
#include "remote/transfer.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

Outcome failed(const QString& path) {
  return Error{ErrorCode::io, path.toStdString() + " cannot be written", "check the folder and the free space"};
}

Outcome fill(const QString& folder, const program::RunRequest& request, const remote::BundleFacts& facts,
             const QByteArray& schedule, const remote::ExecutorFiles* executor) {
  std::map<std::string, remote::BundleFile> files = remote::bundleFiles(request, facts);
  files[request.schedule] = {schedule.toStdString(), false};
  if (executor != nullptr) {
    for (const remote::Upload& file : executor->files) {
      auto bytes = io::readFile(file.source);
      if (!bytes) {
        return bytes.error();
      }
      files[file.name] = {std::move(*bytes), true};
    }
  }
  return remote::writeBundleFolder(QFile::encodeName(folder).toStdString(), files);
}

}  // namespace

Outcome writeBundle(const QString& path, const program::RunRequest& request, const remote::BundleFacts& facts,
                    const QByteArray& schedule, const remote::ExecutorFiles* executor) {
  if (const auto faults = program::faultsOf(request); !faults.empty()) {
    return Error{faults.front().code, faults.front().text, faults.front().fix};
  }
  const bool isTar = path.endsWith(u".tar"_s);
  const bool isPacked = path.endsWith(u".tar.gz"_s) || path.endsWith(u".tgz"_s);
  if (!isTar && !isPacked) {
    return fill(path, request, facts, schedule, executor);
  }
  QTemporaryDir place;
  QString name = QFileInfo(path).fileName();
  name.truncate(name.lastIndexOf(isTar ? u".tar"_s : (path.endsWith(u".tgz"_s) ? u".tgz"_s : u".tar.gz"_s)));
  if (name.isEmpty() || name.startsWith(u'-')) {
    name = u"coppice-run"_s;
  }
  const QString folder = place.filePath(name);
  if (!place.isValid()) {
    return failed(place.path());
  }
  if (Outcome filled = fill(folder, request, facts, schedule, executor); !filled) {
    return filled;
  }
  // Under another name until it is whole.
  const QString part = path + u"."_s + QString::fromStdString(remote::newMark()) + u".part"_s;
  QProcess tar;
  tar.start(u"tar"_s, {isPacked ? u"-czf"_s : u"-cf"_s, QFileInfo(part).absoluteFilePath(), u"-C"_s, place.path(),
                       u"--"_s, name});
  constexpr int kPatience = 120'000;
  bool isWritten = tar.waitForStarted() && tar.waitForFinished(kPatience) && tar.exitCode() == 0;
  std::string why = tar.readAllStandardError().trimmed().toStdString();
  if (isWritten) {
    QFile file(part);
    isWritten = file.open(QIODevice::ReadWrite) && fsync(file.handle()) == 0;
    file.close();
    isWritten = isWritten && std::rename(QFile::encodeName(part).constData(), QFile::encodeName(path).constData()) == 0;
    why = isWritten ? why : std::strerror(errno);
  }
  if (!isWritten) {
    QFile::remove(part);
    return Error{ErrorCode::io, path.toStdString() + " could not be written: " + why,
                 "check the folder and the free space, or save it as a folder"};
  }
  return Done{};
}

}  // namespace coppice::designer

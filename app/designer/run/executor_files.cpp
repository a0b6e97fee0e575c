// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/executor_files.hpp"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include "remote/host.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr qint64 kMostBytes = qint64{512} << 20;

Result<ExecutorFiles::File> readOne(const QString& path, QByteArray& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly) || file.size() > kMostBytes) {
    return Error{ErrorCode::io, path.toStdString() + " cannot be read", "install Coppice again"};
  }
  bytes = file.readAll();
  return ExecutorFiles::File{path, QFileInfo(path).fileName().toStdString(),
                             QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex().toStdString(),
                             bytes.size()};
}

}  // namespace

qint64 ExecutorFiles::bytes() const {
  qint64 sum = 0;
  for (const File& file : files) {
    sum += file.bytes;
  }
  return sum;
}

QString findExecutor() {
  const QDir here(QCoreApplication::applicationDirPath());
  for (const char* place : {"coppice-exec", "../libexec/coppice/coppice-exec", "../bin/coppice-exec"}) {
    const QFileInfo info(here.filePath(QLatin1String(place)));
    if (info.isFile() && info.isExecutable()) {
      return info.canonicalFilePath();
    }
  }
  return {};
}

Result<ExecutorFiles> readExecutor(const QString& program) {
  const QFileInfo info(program);
  if (program.isEmpty() || !info.isFile()) {
    return Error{ErrorCode::unavailable, "the program coppice-exec is not beside Coppice",
                 "install the package with the executor, or build the target coppice-exec"};
  }
  ExecutorFiles result;
  result.program = info.absoluteFilePath();
  QByteArray bytes;
  auto first = readOne(result.program, bytes);
  if (!first) {
    return first.error();
  }
  first->name = "coppice-exec";
  result.files.push_back(*first);
  auto needs = remote::programNeeds(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
  if (!needs) {
    return needs.error();
  }
  result.needs = std::move(*needs);
  const QDir folder = info.absoluteDir();
  for (const QString& name : folder.entryList({u"libcoppice-exec-*.so"_s}, QDir::Files, QDir::Name)) {
    auto file = readOne(folder.filePath(name), bytes);
    if (file && remote::isPlainName(file->name)) {
      result.files.push_back(std::move(*file));
    }
  }
  return result;
}

}  // namespace coppice::designer

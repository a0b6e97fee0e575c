// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <QCryptographicHash>
#include <QFile>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "designer/document/patch_json.hpp"
#include "io/files.hpp"

namespace coppice::designer {
namespace {

// A file is a row of records: "<kind> <bytes> <checksum>\n<payload>\n". Kinds: H the header (version, the document's
// path, its name, its identity, how many commands the file holds; one a line), B the state before the first command
// (compressed), D a command (its text, then its patch), M more of the last command (the same), U and R undo and redo
// (empty), V a change of the view (a patch).
constexpr std::string_view kVersion = "coppice-journal 2";
constexpr char kHeader = 'H';
constexpr char kBase = 'B';

struct NamedStep {
  HistoryStep::Kind kind;
  char letter;
  bool hasText;
  bool hasPatch;
};
constexpr NamedStep kSteps[] = {{HistoryStep::Kind::done, 'D', true, true},
                                {HistoryStep::Kind::merged, 'M', true, true},
                                {HistoryStep::Kind::undone, 'U', false, false},
                                {HistoryStep::Kind::redone, 'R', false, false},
                                {HistoryStep::Kind::view, 'V', false, true}};
constexpr std::size_t kChecksumLength = 16;
constexpr std::size_t kMaxJournalBytes = std::size_t{4} << 30;

Error ioError(const QString& path, const char* what, int number) {
  return Error{ErrorCode::io,
               std::string(what) + ": " + std::generic_category().message(number),
               "save the document to be safe",
               {.file = path.toStdString()}};
}

std::string checksum(std::string_view payload) {
  const QByteArray digest =
      QCryptographicHash::hash(QByteArrayView(payload.data(), static_cast<qsizetype>(payload.size())),
                               QCryptographicHash::Sha1)
          .toHex();
  return digest.left(kChecksumLength).toStdString();
}

std::string oneLine(QString text) {
  return text.replace(u'\n', u' ').toStdString();
}

/// Takes the first line off the text.
QString takeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const QString line = QString::fromUtf8(text.data(), static_cast<qsizetype>(end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

struct Record {
  char kind;
  std::string_view payload;
};

/// Takes the next whole record off the text.
std::optional<Record> nextRecord(std::string_view& text) {
  const std::size_t newline = text.find('\n');
  constexpr std::size_t kLongestHead = 64;
  if (newline == std::string_view::npos || newline > kLongestHead) {
    return std::nullopt;
  }
  const std::string_view head = text.substr(0, newline);
  const std::size_t last = head.rfind(' ');
  if (head.size() < 4 || head[1] != ' ' || last <= 1 || head.size() - last - 1 != kChecksumLength) {
    return std::nullopt;
  }
  std::size_t length = 0;
  const auto parsed = std::from_chars(head.data() + 2, head.data() + last, length);
  if (parsed.ec != std::errc() || parsed.ptr != head.data() + last || length >= text.size() - newline - 1) {
    return std::nullopt;
  }
  const std::string_view payload = text.substr(newline + 1, length);
  if (text[newline + 1 + length] != '\n' || checksum(payload) != head.substr(last + 1)) {
    return std::nullopt;
  }
  const Record record{head[0], payload};
  text.remove_prefix(newline + 1 + length + 1);
  return record;
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::create(const QString& path, const JournalHead& head, const Model& base,
                                                 const History& history, int saved) {
  const auto taken = [&] {
    return Error{ErrorCode::io,
                 "a journal of this file exists already",
                 "recover it first, or discard it",
                 {.file = path.toStdString()}};
  };
  if (QFile::exists(path)) {
    return taken();
  }
  // Written whole under another name first: so every journal that exists can be read.
  const QByteArray name = QFile::encodeName(path);
  const QByteArray temporary = name + "-" + QByteArray::number(::getpid());
  const int descriptor = ::open(temporary.constData(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return ioError(path, "the journal cannot be written", errno);
  }
  std::unique_ptr<Journal> journal(new Journal(path, descriptor));
  const auto giveUp = [&](const Error& error) {
    ::unlink(temporary.constData());
    return error;
  };
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return giveUp(ioError(path, "the journal cannot be locked", errno));
  }
  const QByteArray state = qCompress(QByteArray::fromStdString(modelToJson(base)), 1);
  const std::string header = std::string(kVersion) + "\n" + oneLine(head.documentPath) + "\n" + oneLine(head.name) +
                             "\n" + oneLine(head.identity) + "\n" + std::to_string(saved);
  if (Outcome written = journal->write(kHeader, header); !written) {
    return giveUp(written.error());
  }
  if (Outcome written = journal->write(kBase, {state.constData(), static_cast<std::size_t>(state.size())}); !written) {
    return giveUp(written.error());
  }
  for (const History::Entry& entry : history.entries) {
    if (Outcome written = journal->append(entry.patch, {HistoryStep::Kind::done, entry.text}); !written) {
      return giveUp(written.error());
    }
  }
  for (auto undone = static_cast<int>(history.entries.size()); undone > history.done; --undone) {
    if (Outcome written = journal->append({}, {HistoryStep::Kind::undone}); !written) {
      return giveUp(written.error());
    }
  }
  if (::renameat2(AT_FDCWD, temporary.constData(), AT_FDCWD, name.constData(), RENAME_NOREPLACE) != 0) {
    // EINVAL: a file system that cannot promise it; the check above has to do.
    if (errno != EINVAL || ::rename(temporary.constData(), name.constData()) != 0) {
      return giveUp(errno == EEXIST ? taken() : ioError(path, "the journal cannot be written", errno));
    }
  }
  return journal;
}

Journal::~Journal() {
  ::close(m_descriptor);
}

Outcome Journal::write(char kind, std::string_view payload) {
  if (m_isBroken || m_isDiscarded) {
    return ioError(m_path, "the journal cannot be written", EIO);
  }
  std::string record = std::string(1, kind) + " " + std::to_string(payload.size()) + " " + checksum(payload) + "\n";
  record += payload;
  record += '\n';
  std::string_view rest = record;
  while (!rest.empty()) {
    const ssize_t count = ::write(m_descriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      m_isBroken = true;
      return ioError(m_path, "the journal cannot be written", count < 0 ? errno : EIO);
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  m_isUnsynced = true;
  return Done{};
}

Outcome Journal::append(const Patch& patch, const HistoryStep& step) {
  const NamedStep* known =
      std::find_if(std::begin(kSteps), std::end(kSteps), [&](const NamedStep& each) { return each.kind == step.kind; });
  std::string payload = known->hasText ? oneLine(step.text) + '\n' : std::string();
  if (known->hasPatch) {
    payload += patchToJson(patch);
  }
  return write(known->letter, payload);
}

void Journal::sync() const {
  m_isUnsynced = false;
  ::fdatasync(m_descriptor);
}

void Journal::discard() {
  // The descriptor stays open, since another thread may be in sync().
  if (!std::exchange(m_isDiscarded, true)) {
    ::unlink(QFile::encodeName(m_path).constData());
  }
}

bool isJournalHeld(const QString& path) {
  const int descriptor = ::open(QFile::encodeName(path).constData(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  const bool isHeld = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0;
  ::close(descriptor);
  return isHeld;
}

Result<Recovered> recover(const QString& path) {
  if (isJournalHeld(path)) {
    return Error{
        ErrorCode::io, "another window is using this journal", "close it there first", {.file = path.toStdString()}};
  }
  const auto text = io::readFile(std::filesystem::path(QFile::encodeName(path).toStdString()), kMaxJournalBytes);
  if (!text) {
    return text.error();
  }
  const auto broken = [&](const char* why) {
    return Error{
        ErrorCode::badInput, std::string("this journal ") + why, "open the file itself", {.file = path.toStdString()}};
  };
  std::string_view rest = *text;
  const auto header = nextRecord(rest);
  if (!header || header->kind != kHeader || !header->payload.starts_with(kVersion)) {
    return broken("was written by another program or version");
  }
  Recovered result;
  std::string_view head = header->payload;
  takeLine(head);
  result.head.documentPath = takeLine(head);
  result.head.name = takeLine(head);
  result.head.identity = takeLine(head);
  result.saved = takeLine(head).toInt();
  const auto base = nextRecord(rest);
  if (!base || base->kind != kBase) {
    return broken("is empty or incomplete");
  }
  const QByteArray state =
      qUncompress(reinterpret_cast<const uchar*>(base->payload.data()), static_cast<qsizetype>(base->payload.size()));
  const auto first = patchFromJson({state.constData(), static_cast<std::size_t>(state.size())}, result.model);
  if (!first) {
    return broken("does not say where it begins");
  }
  if (const Outcome applied = result.model.apply(*first); !applied) {
    return applied.error();
  }
  while (!rest.empty()) {
    const auto record = nextRecord(rest);
    const NamedStep* known = std::find_if(std::begin(kSteps), std::end(kSteps),
                                          [&](const NamedStep& each) { return record && each.letter == record->kind; });
    if (known == std::end(kSteps)) {
      result.isCutShort = true;
      break;
    }
    std::string_view payload = record->payload;
    HistoryStep step{known->kind};
    if (known->hasText) {
      step.text = takeLine(payload);
    }
    const auto patch = known->hasPatch ? patchFromJson(payload, result.model) : Result<Patch>(Patch());
    const int before = result.history.done;
    const bool hasRedo = result.history.entries.size() > static_cast<std::size_t>(before);
    if (!patch || !replay(step, *patch, result.model, result.history)) {
      result.isCutShort = true;
      break;
    }
    const bool isEdit = step.kind == HistoryStep::Kind::done || step.kind == HistoryStep::Kind::merged;
    if (isEdit && hasRedo && before < result.saved) {
      result.saved = -1;  // the way back to it is gone
    }
  }
  if (result.saved > static_cast<int>(result.history.entries.size())) {
    result.saved = -1;
  }
  result.changes = result.saved >= 0 ? std::abs(result.history.done - result.saved) : result.history.done;
  return result;
}

}  // namespace coppice::designer

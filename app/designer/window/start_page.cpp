// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/start_page.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <filesystem>

#include "designer/document/exchange.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "io/files.hpp"
#include "workflow/schedule_file.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setProperty("role", u"section"_s);
  label->setFont(sectionFont());
  constexpr QMargins kMargins(0, 16, 0, 4);
  label->setContentsMargins(kMargins);
  return label;
}

/// For pictures of files that another program may have replaced by anything.
Result<Model> readForPicture(const QString& path) {
  constexpr qint64 kMax = 8 << 20;
  if (QFileInfo(path).size() > kMax) {
    return Error{ErrorCode::limit, "too large for a preview", "open the file"};
  }
  const auto text = io::readFile(std::filesystem::path(QFile::encodeName(path).toStdString()));
  if (!text) {
    return text.error();
  }
  if (workflow::scheduleFileKind(*text) == workflow::ScheduleFileKind::program) {
    return Error{ErrorCode::badInput, "a program, which has no drawing"};
  }
  auto read = readAnyFabric(*text, path.toStdString());
  if (!read) {
    return read.error();
  }
  return std::move(read->model);
}

}  // namespace

StartPage::StartPage(CardLoader& loader, QWidget* parent)
    : QWidget(parent),
      m_recent(new CardList(CardLook::card, loader, tr("Recent files"))),
      m_noRecent(new QLabel(tr("Files that you open or save appear here."))),
      m_fabrics(new CardList(CardLook::card, loader, tr("Templates"))) {
  setObjectName(u"startPage"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* body = new QWidget;
  auto* title = new QLabel(tr("coppice"), body);
  constexpr double kTitlePixels = 30;
  title->setFont(uiFont(kTitlePixels, QFont::Bold));
  title->setProperty("role", u"logo"_s);
  auto* subtitle = new QLabel(tr("Draw a fabric and see its bound and bottleneck as you draw."), body);
  subtitle->setProperty("role", u"muted"_s);
  auto* create = new QPushButton(icon(u"new"_s), tr("New fabric"), body);
  create->setObjectName(u"startNew"_s);
  create->setToolTip(tr("An empty drawing (Ctrl+N)"));
  auto* open = new QPushButton(icon(u"open"_s), tr("Open or import…"), body);
  open->setObjectName(u"startOpen"_s);
  open->setToolTip(
      tr("A fabric file, an NCCL topology, nvidia-smi's matrix, ibnetdiscover's network, DOT, or a table of links "
         "(Ctrl+O)"));
  auto* find = new QPushButton(icon(u"topology"_s), tr("Find a topology…"), body);
  find->setObjectName(u"startFind"_s);
  find->setToolTip(tr("Find the best ways to cable GPUs with a given number of ports (Ctrl+K, N)"));
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  words->addWidget(title);
  words->addWidget(subtitle);
  auto* top = new QHBoxLayout;
  top->addLayout(words, 1);
  top->addWidget(create, 0, Qt::AlignVCenter);
  top->addWidget(find, 0, Qt::AlignVCenter);
  top->addWidget(open, 0, Qt::AlignVCenter);
  m_recent->setObjectName(u"startRecent"_s);
  m_fabrics->setObjectName(u"startFabrics"_s);
  m_noRecent->setProperty("role", u"muted"_s);

  auto* layout = new QVBoxLayout(body);
  constexpr QMargins kMargins(56, 36, 40, 32);
  layout->setContentsMargins(kMargins);
  constexpr int kGap = 6;
  layout->setSpacing(kGap);
  layout->addLayout(top);
  layout->addWidget(heading(tr("Recent"), body));
  layout->addWidget(m_noRecent);
  layout->addWidget(m_recent);
  layout->addWidget(heading(tr("Start from a fabric — the bound is for AllGather"), body));
  layout->addWidget(m_fabrics);
  layout->addStretch();
  auto* scroll = scrolled(body, this);
  scroll->setFocusPolicy(Qt::NoFocus);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(scroll);

  std::vector<CardList::Item> items;
  for (const PaletteEntry& entry : startEntries()) {
    items.push_back({entry.id, entry.title, entry.detail, entry.tip + u"\n"_s + tr("Opens as a copy."),
                     u"card/"_s + entry.id, [&entry] { return makePart(entry); }, true});
  }
  m_fabrics->setItems(items);

  connect(create, &QPushButton::clicked, this, &StartPage::newWanted);
  connect(find, &QPushButton::clicked, this, &StartPage::findWanted);
  connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
  for (const auto signal : {&CardList::chosen, &CardList::entered}) {
    connect(m_recent, signal, this, &StartPage::fileWanted);
    connect(m_fabrics, signal, this, [this](const QString& id) {
      if (const PaletteEntry* entry = findEntry(id)) {
        Q_EMIT entryWanted(*entry);
      }
    });
  }
  setRecent({});
}

void StartPage::setRecent(const QStringList& paths) {
  std::vector<CardList::Item> items;
  for (const QString& path : paths) {
    constexpr std::size_t kMax = 8;
    const QFileInfo info(path);
    if (!info.exists() || items.size() >= kMax) {
      continue;
    }
    // Another file under the same name gets another picture.
    const QString key = u"file/%1/%2/%3"_s.arg(path).arg(info.lastModified().toMSecsSinceEpoch()).arg(info.size());
    QString title = info.fileName();
    if (title.endsWith(u".fabric.json"_s)) {
      title.chop(12);
    }
    items.push_back({path, title, QDir::toNativeSeparators(info.absolutePath()), QDir::toNativeSeparators(path), key,
                     [path] { return readForPicture(path); }, true});
  }
  m_recent->setItems(items);
  m_recent->setVisible(!items.empty());
  m_noRecent->setVisible(items.empty());
}

}  // namespace coppice::designer

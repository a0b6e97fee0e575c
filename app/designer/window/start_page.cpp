// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/start_page.hpp"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "designer/theme/fonts.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text.toUpper(), parent);
  label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  label->setObjectName(u"sectionHead"_s);
  label->setFont(sectionFont());
  return label;
}

}  // namespace

StartPage::StartPage(QWidget* parent)
    : QWidget(parent), m_recent(new QListWidget(this)), m_presets(new QListWidget(this)) {
  setObjectName(u"startPage"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* title = new QLabel(tr("coppice"), this);
  constexpr double kTitlePixels = 30;
  title->setFont(uiFont(kTitlePixels, QFont::Bold));
  auto* subtitle = new QLabel(tr("Draw a fabric and see its bound and its bottleneck as you draw."), this);
  subtitle->setForegroundRole(QPalette::PlaceholderText);
  auto* create = new QPushButton(tr("New fabric"), this);
  create->setObjectName(u"startNew"_s);
  create->setDefault(true);
  auto* open = new QPushButton(tr("Open…"), this);
  open->setObjectName(u"startOpen"_s);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(create);
  buttons->addWidget(open);
  buttons->addStretch();

  m_recent->setObjectName(u"startRecent"_s);
  m_recent->setAccessibleName(tr("Recent files"));
  m_presets->setObjectName(u"startPresets"_s);
  m_presets->setAccessibleName(tr("Fabrics to start from"));
  for (QListWidget* list : {m_recent, m_presets}) {
    list->setFrameShape(QFrame::NoFrame);
  }
  for (const presets::Preset& preset : presets::catalogue()) {
    auto* item = new QListWidgetItem(QString::fromStdString(preset.title), m_presets);
    item->setToolTip(QString::fromStdString(preset.description));
    item->setData(Qt::UserRole, QString::fromStdString(preset.name));
  }

  auto* left = new QVBoxLayout;
  left->addWidget(heading(tr("Recent"), this));
  left->addWidget(m_recent, 1);
  auto* right = new QVBoxLayout;
  right->addWidget(heading(tr("Start from a fabric"), this));
  right->addWidget(m_presets, 1);
  auto* columns = new QHBoxLayout;
  constexpr int kColumnGap = 48;
  columns->setSpacing(kColumnGap);
  columns->addLayout(left, 1);
  columns->addLayout(right, 1);

  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(72, 56, 72, 40);
  layout->setContentsMargins(kMargins);
  constexpr int kGap = 16;
  layout->setSpacing(kGap);
  layout->addWidget(title);
  layout->addWidget(subtitle);
  layout->addLayout(buttons);
  layout->addLayout(columns, 1);

  connect(create, &QPushButton::clicked, this, &StartPage::newWanted);
  connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
  connect(m_recent, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
    if (const QString path = item->data(Qt::UserRole).toString(); !path.isEmpty()) {
      Q_EMIT fileWanted(path);
    }
  });
  connect(m_presets, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { Q_EMIT presetWanted(item->data(Qt::UserRole).toString()); });
  setRecent({});
}

void StartPage::setRecent(const QStringList& paths) {
  m_recent->clear();
  for (const QString& path : paths) {
    const QFileInfo info(path);
    auto* item =
        new QListWidgetItem(info.fileName() + u"\n"_s + QDir::toNativeSeparators(info.absolutePath()), m_recent);
    item->setData(Qt::UserRole, path);
    item->setToolTip(QDir::toNativeSeparators(path));
  }
  if (paths.isEmpty()) {
    auto* item = new QListWidgetItem(tr("Files that you open or save appear here."), m_recent);
    item->setFlags(Qt::NoItemFlags);
  }
}

}  // namespace coppice::designer

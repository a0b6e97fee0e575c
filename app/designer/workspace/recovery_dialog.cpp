// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/recovery_dialog.hpp"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLocale>
#include <QMessageBox>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/palette/entries.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr QSize kPicture(132, 88);

struct Loss {
  QString changes;    ///< "1 unsaved change", or nothing
  QString schedules;  ///< "2 unsaved schedules", or nothing
};

Loss lost(const RecoveryItem& item) {
  using Dialog = RecoveryDialog;
  Loss loss;
  if (item.changes > 0) {
    loss.changes = counted(item.changes, Dialog::tr("unsaved change"), Dialog::tr("unsaved changes"));
  }
  if (item.schedules > 0) {
    loss.schedules = counted(item.schedules, Dialog::tr("unsaved schedule"), Dialog::tr("unsaved schedules"));
  }
  return loss;
}

/// What stands below the name: "3 unsaved changes and 2 unsaved schedules".
QString summaryOf(const RecoveryItem& item) {
  const auto [changes, schedules] = lost(item);
  if (changes.isEmpty() && schedules.isEmpty()) {
    return RecoveryDialog::tr("Not saved");
  }
  return changes.isEmpty() || schedules.isEmpty() ? changes + schedules
                                                  : RecoveryDialog::tr("%1 and %2").arg(changes, schedules);
}

}  // namespace

RecoveryDialog::RecoveryDialog(std::vector<RecoveryItem> items, QWidget* parent)
    : QDialog(parent),
      m_items(std::move(items)),
      m_pictures(m_items.size()),
      m_choices(m_items.size(), RecoveryChoice::later),
      m_list(new QListWidget(this)),
      m_discard(new QPushButton(tr("Discard"), this)),
      m_restore(new QPushButton(tr("Restore"), this)),
      m_job(
          [this](const std::shared_ptr<const FabricPicture>& picture) {
            m_pictures[m_next++] = *picture;
            showPictures();
            orderPicture();
          },
          0ms) {
  setObjectName(u"recoveryDialog"_s);
  setWindowTitle(tr("Restore Changes"));
  auto* head = new QLabel(this);
  head->setObjectName(u"recoveryHead"_s);
  head->setWordWrap(true);
  constexpr double kHeadPixels = 15;
  head->setFont(uiFont(kHeadPixels, QFont::DemiBold));
  head->setText(m_items.size() == 1
                    ? tr("Coppice closed unexpectedly. %1.").arg(lossOf(m_items.front()))
                    : tr("Coppice closed unexpectedly. %1 have unsaved changes.")
                          .arg(counted(static_cast<qsizetype>(m_items.size()), tr("fabric"), tr("fabrics"))));
  auto* hint = new QLabel(tr("Restored fabrics open with their undo history and unsaved schedules. Files on disk "
                             "do not change until you save."),
                          this);
  hint->setWordWrap(true);
  hint->setProperty("role", u"muted"_s);

  fillList();
  m_discard->setObjectName(u"recoveryDiscard"_s);
  m_discard->setAutoDefault(false);
  m_restore->setObjectName(u"recoveryRestore"_s);
  m_restore->setDefault(true);
  auto* later = new QPushButton(tr("Decide Later"), this);
  later->setObjectName(u"recoveryLater"_s);
  later->setAutoDefault(false);
  later->setToolTip(tr("Ask again at the next start"));
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_discard);
  buttons->addStretch();
  buttons->addWidget(later);
  buttons->addWidget(m_restore);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(20, 20, 20, 16);
  constexpr int kGap = 12;
  layout->setContentsMargins(kMargins);
  layout->setSpacing(kGap);
  layout->addWidget(head);
  layout->addWidget(m_list, 1);
  layout->addWidget(hint);
  layout->addLayout(buttons);

  connect(m_list, &QListWidget::itemChanged, this, &RecoveryDialog::follow);
  connect(&Theme::instance(), &Theme::changed, this, &RecoveryDialog::showPictures);
  connect(later, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_restore, &QPushButton::clicked, this, [this] { take(RecoveryChoice::restore); });
  connect(m_discard, &QPushButton::clicked, this, &RecoveryDialog::askToDiscard);
  showPictures();
  follow();
  orderPicture();
  m_restore->setFocus();
}

RecoveryDialog::~RecoveryDialog() = default;

void RecoveryDialog::fillList() {
  m_list->setObjectName(u"recoveryList"_s);
  m_list->setAccessibleName(tr("Unsaved fabrics"));
  m_list->setIconSize(kPicture);
  m_list->setUniformItemSizes(true);
  m_list->setWordWrap(false);
  m_list->setTextElideMode(Qt::ElideMiddle);
  m_list->setSpacing(2);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  for (const RecoveryItem& each : m_items) {
    const FabricSize size = sizeOf(*each.model);
    const QString time =
        QLocale().toString(each.time.date(), QLocale::ShortFormat) + u' ' + each.time.time().toString(u"HH:mm"_s);
    auto* item = new QListWidgetItem(
        each.name + u'\n' + summaryOf(each) + u'\n' + counted(size.gpus, tr("GPU"), tr("GPUs")) + u" · "_s +
            counted(size.nodes, tr("node"), tr("nodes")) + u" · "_s + tr("last change %1").arg(time) + u'\n' +
            (each.path.isEmpty() ? tr("Never saved") : QDir::toNativeSeparators(QFileInfo(each.path).absolutePath())),
        m_list);
    item->setToolTip(QDir::toNativeSeparators(each.path));
    item->setFlags(Qt::ItemIsUserCheckable | Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    item->setCheckState(Qt::Checked);
  }
  constexpr int kListWidth = 600;
  constexpr int kRow = 104;
  constexpr std::size_t kMaxRows = 4;
  m_list->setMinimumSize(kListWidth, static_cast<int>(std::min(m_items.size(), kMaxRows)) * kRow);
}

void RecoveryDialog::askToDiscard() {
  const int count = checkedCount();
  QMessageBox box(QMessageBox::Warning, tr("Discard Changes"),
                  count == 1 ? tr("Discard the unsaved changes to one fabric?")
                             : tr("Discard the unsaved changes to %1 fabrics?").arg(count),
                  QMessageBox::Discard | QMessageBox::Cancel, this);
  box.setInformativeText(tr("They cannot be restored."));
  box.setDefaultButton(QMessageBox::Cancel);
  if (box.exec() == QMessageBox::Discard) {
    take(RecoveryChoice::discard);
  }
}

QString RecoveryDialog::lossOf(const RecoveryItem& item) {
  const QString name = item.path.isEmpty() ? tr("an untitled fabric") : item.name;
  auto [changes, schedules] = lost(item);
  if (!changes.isEmpty()) {
    changes = tr("%1 to %2").arg(changes, name);
  }
  if (changes.isEmpty() && schedules.isEmpty()) {
    return tr("%1 was not saved").arg(item.name);
  }
  if (changes.isEmpty()) {
    return tr("%1 of %2").arg(schedules, name);
  }
  return schedules.isEmpty() ? changes : tr("%1 and %2").arg(changes, schedules);
}

int RecoveryDialog::checkedCount() const {
  int count = 0;
  for (int i = 0; i < m_list->count(); ++i) {
    count += m_list->item(i)->checkState() == Qt::Checked ? 1 : 0;
  }
  return count;
}

void RecoveryDialog::follow() {
  const int count = checkedCount();
  const bool isAll = count == m_list->count();
  m_restore->setEnabled(count > 0);
  m_discard->setEnabled(count > 0);
  const bool isOne = m_list->count() == 1;
  m_restore->setText(isOne ? tr("Restore") : (isAll ? tr("Restore All") : tr("Restore Selected")));
  m_discard->setText(isOne ? tr("Discard…") : (isAll ? tr("Discard All…") : tr("Discard Selected…")));
}

void RecoveryDialog::orderPicture() {
  if (m_next < m_items.size()) {
    m_job.submit([model = m_items[m_next].model, ratio = devicePixelRatioF()](const std::stop_token&) {
      try {
        return std::make_shared<const FabricPicture>(fabricPicture(*model, kPicture, ratio));
      } catch (const std::exception&) {
        // Without a picture it can be restored all the same.
        return std::make_shared<const FabricPicture>();
      }
    });
  }
}

void RecoveryDialog::showPictures() {
  const bool isDark = Theme::instance().scheme() == Scheme::dark;
  for (std::size_t i = 0; i < m_items.size(); ++i) {
    const QImage& image = isDark ? m_pictures[i].dark : m_pictures[i].light;
    QPixmap pixmap = QPixmap::fromImage(image);
    if (pixmap.isNull()) {
      // Keeps the place of one that is on its way.
      pixmap = QPixmap(kPicture);
      pixmap.fill(Qt::transparent);
    }
    m_list->item(static_cast<int>(i))->setIcon(QIcon(pixmap));
  }
}

void RecoveryDialog::take(RecoveryChoice choice) {
  for (int i = 0; i < m_list->count(); ++i) {
    if (m_list->item(i)->checkState() == Qt::Checked) {
      m_choices[i] = choice;
    }
  }
  accept();
}

}  // namespace coppice::designer

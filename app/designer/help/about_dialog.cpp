// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/help/about_dialog.hpp"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "coppice/version.hpp"
#include "designer/help/help_book.hpp"
#include "designer/theme/fonts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QString licence(const QString& name) {
  QFile file(u":/help/licences/"_s + name);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

}  // namespace

AboutDialog::AboutDialog(QWidget* parent) : QDialog(parent) {
  setObjectName(u"aboutDialog"_s);
  setWindowTitle(tr("About Coppice"));
  HelpBook::instance();  // which brings the resources in
  auto* picture = new QLabel(this);
  constexpr int kIcon = 72;
  QPixmap icon(u":/help/icon.png"_s);
  icon = icon.scaledToWidth(qRound(kIcon * devicePixelRatioF()), Qt::SmoothTransformation);
  icon.setDevicePixelRatio(devicePixelRatioF());
  picture->setPixmap(icon);
  auto* name = new QLabel(tr("Coppice %1").arg(QLatin1String(kVersion)), this);
  constexpr double kNamePixels = 22;
  name->setFont(uiFont(kNamePixels, QFont::DemiBold));
  name->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* what = new QLabel(tr("The fastest possible collective communication on a GPU cluster, exactly."), this);
  what->setWordWrap(true);
  what->setProperty("role", u"muted"_s);
  auto* words = new QVBoxLayout;
  words->addWidget(name);
  words->addWidget(what);
  auto* head = new QHBoxLayout;
  constexpr int kGap = 18;
  head->setSpacing(kGap);
  head->addWidget(picture);
  head->addLayout(words, 1);

  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  tabs->setAccessibleName(tr("About Coppice"));
  auto* about = new QTextBrowser(tabs);
  about->setAccessibleName(tr("Licences"));
  about->setFrameShape(QFrame::NoFrame);
  about->setMarkdown(tr(
      "The method is ForestColl (Liangyu Zhao's dissertation, chapter 4 and appendix B).\n\n"
      "The designer is free software under the GNU General Public License, version 3 or later, because Qt Charts is. "
      "The core, `coppice-cli` and `coppice-dot` are under the Apache License 2.0. It comes with absolutely no "
      "warranty.\n\n"
      "`coppice-dot`, a program of its own, is the only part that links Graphviz."));
  auto* libraries = new QTextBrowser(tabs);
  libraries->setAccessibleName(tr("Libraries"));
  libraries->setFrameShape(QFrame::NoFrame);
  libraries->setMarkdown(
      tr("- **Qt %1**, with Qt Charts: GPL-3.0 (the Qt Company)\n"
         "- **LEMON**: Boost Software License 1.0 (Egerváry Jenő Combinatorial Optimization Research "
         "Group)\n"
         "- **nauty**: Apache-2.0 (Brendan McKay, Adolfo Piperno)\n"
         "- **Z3**, where it was found at the build: MIT (Microsoft)\n"
         "- **JSON for Modern C++**: MIT (Niels Lohmann)\n"
         "- **pugixml**: MIT (Arseny Kapoulkine)\n"
         "- **yaml-cpp**: MIT (Jesse Beder)\n"
         "- **Graphviz**, in coppice-dot: Eclipse Public License 1.0 (AT&T)\n"
         "- **Inter**: OFL-1.1 (The Inter Project Authors)\n"
         "- **JetBrains Mono**: OFL-1.1 (The JetBrains Mono Project Authors)\n"
         "- Colours: our own; orange is the limit alone\n")
          .arg(QLatin1String(qVersion())));
  auto* licences = new QWidget(tabs);
  auto* choice = new QComboBox(licences);
  choice->setAccessibleName(tr("Licence"));
  choice->addItem(tr("GNU General Public License 3 (designer)"), u"GPL-3.0-or-later.txt"_s);
  choice->addItem(tr("Apache License 2.0 (core)"), u"Apache-2.0.txt"_s);
  choice->addItem(tr("SIL Open Font License 1.1 (fonts)"), u"OFL-1.1.txt"_s);
  auto* text = new QPlainTextEdit(licences);
  text->setObjectName(u"licenceText"_s);
  text->setReadOnly(true);
  text->setFont(figureFont(11.5));
  text->setFrameShape(QFrame::NoFrame);
  auto* column = new QVBoxLayout(licences);
  column->setContentsMargins(0, 8, 0, 0);
  column->addWidget(choice);
  column->addWidget(text, 1);
  const auto show = [choice, text] { text->setPlainText(licence(choice->currentData().toString())); };
  connect(choice, &QComboBox::currentIndexChanged, this, show);
  show();
  tabs->addTab(about, tr("About"));
  tabs->addTab(libraries, tr("Libraries"));
  tabs->addTab(licences, tr("Licences"));

  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  constexpr int kMargin = 20;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin - 4);
  layout->addLayout(head);
  layout->addWidget(tabs, 1);
  layout->addWidget(buttons);
  constexpr QSize kSize(620, 460);
  resize(kSize);
}

}  // namespace coppice::designer

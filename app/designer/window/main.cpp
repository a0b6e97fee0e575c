// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QCommandLineParser>
#include <QStandardPaths>

#include "coppice/version.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QCoreApplication::setOrganizationName(u"coppice"_s);
  QCoreApplication::setApplicationName(u"coppice"_s);
  QCoreApplication::setApplicationVersion(QLatin1String(coppice::kVersion));
  QGuiApplication::setDesktopFileName(u"coppice"_s);

  QCommandLineParser parser;
  parser.setApplicationDescription(
      QCoreApplication::translate("main", "Draw a GPU fabric and see its bound and its bottleneck as you draw."));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(u"files"_s, QCoreApplication::translate("main", "Fabrics to open."), u"[files…]"_s);
  parser.process(app);

  coppice::designer::Theme::instance().applyTo(app);
  coppice::designer::WindowOptions options;
  options.recoveryFolder = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + u"/recovery"_s;
  coppice::designer::MainWindow window(options);
  window.show();
  window.offerRecovery();
  if (parser.positionalArguments().isEmpty()) {
    window.restoreSession();
  }
  const QStringList files = parser.positionalArguments();
  for (const QString& file : files) {
    window.openFile(file);
  }
  return QApplication::exec();
}

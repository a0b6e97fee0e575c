// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QIcon>
#include <QStandardPaths>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "coppice/version.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/features/help/help_feature.hpp"
#include "designer/help/plurals.hpp"
#include "designer/jobs/threads.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/command_line.hpp"
#include "designer/window/image_command.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

namespace {

using coppice::designer::CommandLine;

int refuse(const coppice::Error& error) {
  std::fprintf(stderr, "coppice: %s\n", coppice::describe(error).c_str());
  return coppice::designer::exitCodeOf(error);
}

void print(const QString& text) {
  std::fputs(text.toUtf8().constData(), stdout);
}

/// Qt ends the process where there is no display; a message says more.
bool hasDisplay(const QStringList& arguments) {
  const bool isChosen = qEnvironmentVariableIsSet("QT_QPA_PLATFORM") || arguments.contains(u"-platform"_s) ||
                        arguments.contains(u"--platform"_s);
  return isChosen || !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
}

void nameApplication() {
  QCoreApplication::setOrganizationName(u"coppice"_s);
  QCoreApplication::setApplicationName(u"coppice"_s);
  QCoreApplication::setApplicationVersion(QLatin1String(coppice::kVersion));
  QGuiApplication::setDesktopFileName(u"alt.coppice.designer"_s);
}

void installPlurals(QApplication& app) {
  QCoreApplication::installTranslator(new coppice::designer::Plurals(&app));
}

QIcon appIcon() {
  QIcon icon;
  for (const int size : {16, 24, 32, 48, 64, 128, 256}) {
    icon.addFile(u":/coppice/icon-%1.png"_s.arg(size), QSize(size, size));
  }
  return icon;
}

int drawImage(int& argc, char** argv, const CommandLine& line) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  // Pictures have the scale that was asked for, whatever the screen of this machine has.
  qunsetenv("QT_SCALE_FACTOR");
  qunsetenv("QT_SCREEN_SCALE_FACTORS");
  // Qt's messages about the desktop do not matter here; failures are reported in our own words.
  qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (type == QtFatalMsg) {
      std::fprintf(stderr, "coppice: %s\n", text.toUtf8().constData());
    }
  });
  QApplication app(argc, argv);
  nameApplication();
  installPlurals(app);
  coppice::designer::Theme::instance().applyTo(app);
  const coppice::Outcome drawn = coppice::designer::exportImage(line.image);
  return drawn ? 0 : refuse(drawn.error());
}

int showWindow(int& argc, char** argv, const CommandLine& line) {
  QApplication app(argc, argv);
  nameApplication();
  installPlurals(app);
  QGuiApplication::setWindowIcon(appIcon());
  coppice::designer::Theme::instance().applyTo(app);
  coppice::designer::WindowOptions options;
  const QString dataFolder = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation);
  options.recoveryFolder = dataFolder + u"/recovery"_s;
  options.templatesFolder = dataFolder + u"/templates"_s;
  int code = 0;
  {
    coppice::designer::MainWindow window(options);
    window.show();
    window.files().session().offerRecovery();
    if (line.files.isEmpty()) {
      window.files().session().restore();
      window.help().offerTour();
    }
    window.files().openFiles(line.files);
    window.files().session().keep();
    code = QApplication::exec();
  }
  // What is being written is finished. Computations were told to stop; nobody waits for their answers.
  coppice::designer::writingThreads()->waitForDone();
  if (!coppice::designer::waitForComputations(std::chrono::milliseconds(50))) {
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}

int run(int argc, char** argv) {
  QStringList arguments;
  for (int i = 0; i < argc; ++i) {
    arguments << QString::fromLocal8Bit(argv[i]);
  }
  const auto line = coppice::designer::parseCommandLine(arguments);
  if (!line) {
    return refuse(line.error());
  }
  switch (line->task) {
    case CommandLine::Task::help:
      print(coppice::designer::commandLineHelp());
      return 0;
    case CommandLine::Task::version:
      print(u"coppice %1\n"_s.arg(QLatin1String(coppice::kVersion)));
      return 0;
    case CommandLine::Task::image:
      return drawImage(argc, argv, *line);
    case CommandLine::Task::window:
      break;
  }
  if (!hasDisplay(arguments)) {
    return refuse({coppice::ErrorCode::unavailable, "no display is available for the window",
                   "set DISPLAY or WAYLAND_DISPLAY; coppice --export-image and coppice-cli need none"});
  }
  return showWindow(argc, argv, *line);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "coppice: %s\n", error.what());
    return 2;
  }
}

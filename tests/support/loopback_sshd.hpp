// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QString>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <QTest>

/// A real sshd on the loopback, without sftp, with throw-away keys, run as the present user, with a home folder of its
/// own; and a client configuration in which it is called "loop".
class LoopbackSshd {
public:
  /// Empty if it runs; otherwise why it cannot.
  QString start() {
    const QString sshd = "/usr/sbin/sshd";
    if (!QFileInfo(sshd).isExecutable()) {
      return "skipped: needs sshd (Debian: openssh-server)";
    }
    if (!m_folder.isValid()) {
      return "no temporary folder";
    }
    for (const char* name : {"home", "empty-home"}) {
      QDir().mkdir(path(QLatin1String(name)));
    }
    if (!makeKey("host_key") || !makeKey("other_host_key") || !makeKey("user_key") || !makeKey("unknown_key")) {
      return "skipped: needs ssh-keygen";
    }
    if (geteuid() == 0) {
      QDir().mkpath("/run/sshd");
    }
    QFile::copy(path("user_key.pub"), path("authorized_keys"));
    // The session starts in our home, not in that of the user, and runs "rc" there first, as a login does.
    write("session.sh",
          "#!/bin/sh\ncd \"$HOME\" || exit 1\nif [ -f rc ]; then . ./rc; fi\n"
          "exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n");
    QFile::setPermissions(path("session.sh"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    for (int i = 0; i < 20; ++i) {
      {
        QTcpServer free;
        free.listen(QHostAddress::LocalHost);
        m_port = free.serverPort();
      }
      if (launch("host_key")) {
        writeClientConfig();
        return {};
      }
    }
    return "sshd does not start: " + QString::fromUtf8(m_sshd.readAllStandardError());
  }

  /// The same place with another host key.
  bool restartWith(const QString& key) {
    stop();
    return launch(key);
  }
  void stop() {
    m_sshd.terminate();
    if (!m_sshd.waitForFinished(3000)) {
      m_sshd.kill();
      m_sshd.waitForFinished(3000);
    }
  }
  ~LoopbackSshd() {
    if (m_sshd.state() != QProcess::NotRunning) {
      stop();
    }
  }

  [[nodiscard]] QString path(const QString& name) const { return m_folder.filePath(name); }
  [[nodiscard]] QString config() const { return path("config"); }
  [[nodiscard]] int port() const { return m_port; }

  void writeClientConfig(const QString& key = "user_key") {
    write("config",
          QStringLiteral("Host loop\n  HostName 127.0.0.1\n  Port %1\n  IdentityFile %2\n  IdentitiesOnly yes\n"
                         "  IdentityAgent none\n  UserKnownHostsFile %3\n  GlobalKnownHostsFile /dev/null\n"
                         "  StrictHostKeyChecking no\n")
              .arg(QString::number(m_port), path(key), path("known_hosts"))
              .toUtf8());
  }
  void forgetHost() { QFile::remove(path("known_hosts")); }
  /// The known hosts as if the user had connected before.
  void trustHost(const QString& key = "host_key") {
    QFile publicKey(path(key + ".pub"));
    if (publicKey.open(QIODevice::ReadOnly)) {
      const QList<QByteArray> words = publicKey.readAll().split(' ');
      write("known_hosts", "[127.0.0.1]:" + QByteArray::number(m_port) + " " + words[0] + " " + words[1] + "\n");
    }
  }
  void write(const QString& name, const QByteArray& text) {
    QFile file(path(name));
    if (file.open(QIODevice::WriteOnly | QIODevice::Truncate)) {
      file.write(text);
    }
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
  }

  bool makeKey(const QString& name, const QString& passphrase = {}) {
    return QProcess::execute("ssh-keygen", {"-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", path(name)}) ==
           0;
  }

private:
  bool launch(const QString& key) {
    // HOME is ours from the start: the shell of the user would read the files of the user's home, which may start
    // dozens of programs in each session. An exchange of keys by elliptic curves takes a tenth of the time of others.
    write(
        "sshd_config",
        QStringLiteral("Port %1\nListenAddress 127.0.0.1\nHostKey %2\nAuthorizedKeysFile %3\nPidFile none\nUsePAM no\n"
                       "StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                       "PermitRootLogin yes\nForceCommand %4\nMaxStartups 100\nSetEnv HOME=%5\n"
                       "KexAlgorithms curve25519-sha256\n")
            .arg(QString::number(m_port), path(key), path("authorized_keys"), path("session.sh"), path("home"))
            .toUtf8());
    m_sshd.start("/usr/sbin/sshd", {"-D", "-e", "-f", path("sshd_config"), "-p", QString::number(m_port)});
    if (!m_sshd.waitForStarted(3000)) {
      return false;
    }
    for (int i = 0; i < 200; ++i) {
      QTcpSocket probe;
      probe.connectToHost(QHostAddress(QHostAddress::LocalHost), static_cast<quint16>(m_port));
      if (probe.waitForConnected(100)) {
        return true;
      }
      if (m_sshd.state() == QProcess::NotRunning || m_sshd.waitForFinished(20)) {
        return false;
      }
    }
    return false;
  }

  QTemporaryDir m_folder;
  QProcess m_sshd;
  int m_port = 0;
};

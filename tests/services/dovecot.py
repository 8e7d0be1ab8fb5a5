"""A Dovecot of our own: one user, one Maildir, encrypted or not, on ports of its own."""

from __future__ import annotations

import getpass
import grp
import itertools
import os
import shutil
import signal
import socket
import ssl
from pathlib import Path

from tests.contract.certificates import self_signed
from tests.services.ports import free_port
from tests.services.server import Server, ServiceError

USER = "bot@post.example"
PASSWORD = 'canary "pass\\word'
_MAIL_USER = "dovecot"
_numbers = itertools.count(1)


class Dovecot:
    """Mail is delivered as every Maildir takes it: written into `tmp`, then moved into `new`."""

    def __init__(self, directory: Path, introspection_url: str = "") -> None:
        """With the URL that says whose a token is, it takes tokens, too."""
        self._introspection_url = introspection_url
        self.port, self.tls_port = free_port(), free_port()
        self._directory = directory
        self._server: Server | None = None
        self.trust: ssl.SSLContext | None = None

    @property
    def maildir(self) -> Path:
        return self._directory / "mail"

    def start(self) -> None:
        if not self.maildir.is_dir():
            self._prepare()
        program = find_program()
        command = [program, "-F", "-c", str(self._directory / "dovecot.conf")]
        self._server = Server(command, directory=self._directory, log=self._directory / "log")
        self._server.start(self._is_ready)

    def stop(self) -> None:
        """All at once: its children would go on with the connections they have."""
        if self._server is not None:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.stop(signal.SIGKILL)
        self._server = None

    def deliver(self, content: bytes) -> None:
        name = f"{next(_numbers)}.{os.getpid()}.test"
        (self.maildir / "tmp" / name).write_bytes(content)
        (self.maildir / "tmp" / name).rename(self.maildir / "new" / name)

    def number_anew(self) -> None:
        """As after a restored backup: the same mails under another UIDVALIDITY. Only while it is stopped."""
        listed = self.maildir / "dovecot-uidlist"
        version, validity, *rest = listed.read_text().splitlines()[0].split()
        listed.write_text(" ".join([version, f"V{int(validity[1:]) + 1000}", "N1", *rest[1:]]) + "\n")
        for index in self.maildir.glob("dovecot.index*"):
            index.unlink()

    def flags(self) -> set[str]:
        """What stands behind the names of the mails that a client has looked at."""
        return {path.name.partition(":2,")[2] for path in (self.maildir / "cur").iterdir()}

    def _prepare(self) -> None:
        for folder in ("new", "cur", "tmp"):
            (self.maildir / folder).mkdir(parents=True)
        if os.geteuid() == 0:  # it never reads mail as root
            for path in (self.maildir, *self.maildir.iterdir()):
                shutil.chown(path, _MAIL_USER, _MAIL_USER)
        _, self.trust = self_signed(self._directory)
        (self._directory / "oauth2").write_text(
            f"introspection_mode = post\nintrospection_url = {self._introspection_url}\n"
            "username_attribute = username\nactive_attribute = active\nactive_value = true\n"
        )
        (self._directory / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
        (self._directory / "dovecot.conf").write_text(self._settings(self._directory / "mail.test.pem"))

    def _settings(self, certificate: Path) -> str:
        is_root = os.geteuid() == 0  # then it wants its own users, whom the package has made
        reader, reader_group = (_MAIL_USER, _MAIL_USER) if is_root else (os.getuid(), os.getgid())
        me, group = getpass.getuser(), grp.getgrgid(os.getgid()).gr_name
        return f"""
base_dir = {self._directory}/run
state_dir = {self._directory}/state
log_path = {self._directory}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {_MAIL_USER if is_root else me}
default_login_user = {"dovenull" if is_root else me}
default_internal_group = {_MAIL_USER if is_root else group}
first_valid_uid = 0
first_valid_gid = 0
mail_location = maildir:{self.maildir}
auth_mechanisms = plain login{" xoauth2" if self._introspection_url else ""}
disable_plaintext_auth = no
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{certificate}
auth_username_chars =
{self._by_token()}
passdb {{
  driver = passwd-file
  args = username_format=%u {self._directory}/users
}}
userdb {{
  driver = static
  args = uid={reader} gid={reader_group} home={self._directory}
}}
auth_failure_delay = 0
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {self.port}
  }}
  inet_listener imaps {{
    port = {self.tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
"""

    def _by_token(self) -> str:
        if not self._introspection_url:
            return ""
        return f"passdb {{\n  driver = oauth2\n  mechanisms = xoauth2\n  args = {self._directory}/oauth2\n}}"

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(64).startswith(b"* OK")
        except OSError:
            return False


def find_program() -> str:
    """Debian keeps it where only root's PATH looks."""
    found = shutil.which("dovecot") or shutil.which("dovecot", path="/usr/sbin")
    if found is None:
        raise ServiceError("Dovecot is not installed: apt-get install dovecot-imapd")
    return found

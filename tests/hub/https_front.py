"""A proxy that stands for the internet: it answers https for one host from a server on this machine.

Installers that accept https only, and no host of this machine, are pointed at it with `HTTPS_PROXY`. Every
other host is refused, so nothing leaves the machine.
"""

import pathlib
import select
import socket
import ssl
import subprocess
import threading


class HttpsFront:
    """Serves `https://HOST` from a port of this machine."""

    def __init__(self, host, port, folder):
        self.host, self.port = host, port
        folder = pathlib.Path(folder)
        self.authority = folder / "authority.pem"
        self._make_certificates(folder)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "host.pem", folder / "host.key")
        self.refused = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _make_certificates(self, folder):
        def openssl(*args):
            subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)

        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl(
            "req", "-x509", *curve, "-keyout", "authority.key", "-out", "authority.pem", "-days", "2",
            "-subj", "/CN=Authority of a test", "-addext", "basicConstraints=critical,CA:TRUE",
        )
        openssl("req", *curve, "-keyout", "host.key", "-out", "host.csr", "-subj", f"/CN={self.host}")
        (folder / "host.ext").write_text(f"subjectAltName=DNS:{self.host}\n")
        openssl(
            "x509", "-req", "-in", "host.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
            "-CAcreateserial", "-out", "host.pem", "-days", "2", "-extfile", "host.ext",
        )

    def _accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                more = client.recv(4096)
                if not more:
                    return
                head += more
            target = head.split(b" ")[1].decode("latin-1")
            if not head.startswith(b"CONNECT ") or target != f"{self.host}:443":
                self.refused.append(target)
                client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                return
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            with self.tls.wrap_socket(client, server_side=True) as outside:
                with socket.create_connection(("127.0.0.1", self.port)) as inside:
                    self._copy(outside, inside)
        except OSError:
            # The other end has what it wanted.
            pass
        finally:
            client.close()

    @staticmethod
    def _copy(outside, inside):
        while True:
            ready, _, _ = select.select([outside, inside], [], [], 0 if outside.pending() else 60)
            ready = ready or ([outside] if outside.pending() else [])
            if not ready:
                return
            for one in ready:
                data = one.recv(65536)
                if not data:
                    return
                (inside if one is outside else outside).sendall(data)

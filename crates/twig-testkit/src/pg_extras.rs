//! What may be around a PostgreSQL server: a pooler in front of it, TLS, a disk that is full.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use crate::pg_server::{LONG, POOLED, PgServer, command_of, finish, shell};

/// The pooler, as Debian installs it.
const POOLER: &str = "/usr/sbin/pgbouncer";

/// Numbers the addresses of servers with TLS.
static NEXT: AtomicU8 = AtomicU8::new(1);

impl PgServer {
    /// Starts pgbouncer in front of the server, unless it is there, in transaction mode with four connections; `false`,
    /// and a line that says so, where it is not installed.
    #[allow(clippy::print_stderr, reason = "a skipped test says so")]
    pub fn pool(&self) -> bool {
        if self.is_pooled() {
            return true;
        }
        if !Path::new(POOLER).is_file() {
            eprintln!("skipped: pgbouncer is not installed here");
            return false;
        }
        let folder = self.folder().display();
        shell(&format!(
            "cat > {folder}/pooler.users <<'END'\n\"keeper\" \"\"\n\"twig\" \"\"\n\"app\" \"\"\n\"compactor\" \"\"\nEND\n\
             cat > {folder}/pooler.ini <<'END'\n[databases]\n* = host={folder}\n[pgbouncer]\n\
             listen_port = {POOLED}\nunix_socket_dir = {folder}\nauth_type = trust\n\
             auth_file = {folder}/pooler.users\npool_mode = transaction\ndefault_pool_size = 4\n\
             max_client_conn = 500\nserver_login_retry = 1\nserver_idle_timeout = 1\nlogfile = {folder}/pooler.log\n\
             pidfile = {folder}/pooler.pid\nEND\n"
        ));
        let ini = self.folder().join("pooler.ini");
        let mut command = command_of(Path::new(POOLER));
        finish(POOLER, command.arg("-d").arg(ini));
        let socket = self.folder().join(format!(".s.PGSQL.{POOLED}"));
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < LONG, "the pooler does not listen");
            std::thread::yield_now();
        }
        true
    }

    /// The URL of a database through the pooler.
    pub fn pooled_url(&self, database: &str) -> String {
        let socket = self.folder().display();
        format!("postgres:///{database}?host={socket}&port={POOLED}&user=keeper&sslmode=disable")
    }

    /// Has the server listen with TLS at a loopback address of its own, which is returned. A URL names
    /// it with `hostaddr`, beside any host.
    pub fn offer_tls(&self, certificate: &str, key: &str) -> String {
        let data = self.folder().join("data");
        let data = data.display();
        let process = std::process::id().to_be_bytes();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.{}.{}.{number}", process[2], process[3]);
        shell(&format!(
            "cat > {data}/server.crt <<'END'\n{certificate}\nEND\n\
             (umask 077; cat > {data}/server.key <<'END'\n{key}\nEND\n)\n\
             echo \"host all all 127.0.0.0/8 trust\" >> {data}/pg_hba.conf\n\
             cat >> {data}/postgresql.conf <<'END'\nlisten_addresses = '{address}'\nssl = on\nEND\n"
        ));
        self.crash();
        self.begin();
        address
    }

    /// Has the server listen at this address.
    pub fn listen_at(&self, address: &str) {
        let data = self.folder().join("data");
        let data = data.display();
        shell(&format!(
            "echo \"host all all 10.0.0.0/8 trust\" >> {data}/pg_hba.conf\n\
             echo \"listen_addresses = '{address}'\" >> {data}/postgresql.conf\n"
        ));
        self.crash();
        self.begin();
    }

    /// Creates a database on a disk of this many bytes; `None`, and a line that says so, where disks
    /// cannot be mounted.
    #[allow(clippy::print_stderr, reason = "a skipped test says so")]
    pub fn create_on_small_disk(&self, database: &str, bytes: u64) -> Option<SmallDisk> {
        let disk = self.folder().join(format!("disk-{database}"));
        shell(&format!("mkdir {}", disk.display()));
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={bytes},mode=777"))
            .args(["tmpfs".as_ref(), disk.as_os_str()])
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no disk can be mounted here");
            return None;
        }
        let mounted = SmallDisk(disk.display().to_string());
        let place = format!("{}/space", mounted.0);
        shell(&format!("mkdir {place}"));
        self.sql(
            "postgres",
            &format!("CREATE TABLESPACE {database} LOCATION '{place}'"),
        );
        self.sql(
            "postgres",
            &format!("CREATE DATABASE {database} OWNER keeper TABLESPACE {database}"),
        );
        Some(mounted)
    }
}

/// A mounted disk; dropping this unmounts it.
#[derive(Debug)]
pub struct SmallDisk(String);

impl SmallDisk {
    /// Makes it this large.
    pub fn grow(&self, bytes: u64) {
        let mut command = Command::new("mount");
        command
            .args(["-o", &format!("remount,size={bytes}")])
            .arg(&self.0);
        assert!(command.status().is_ok_and(|status| status.success()));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.0]).status();
    }
}

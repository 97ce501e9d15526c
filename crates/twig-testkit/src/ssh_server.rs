//! OpenSSH's server on loopback, with keys of its own.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::git_repo::{clean_environment, run, search_path};
use crate::loopback::{LoopbackListener, run_on};

/// Where systems keep the server, which has to be called by its full path.
const PLACES: [&str; 4] = [
    "/usr/sbin/sshd",
    "/usr/local/sbin/sshd",
    "/sbin/sshd",
    "/usr/bin/sshd",
];

/// Lets the current user in with a key, to run git on the repositories below a folder.
///
/// Clients need [`SshServer::command`] as `GIT_SSH_COMMAND` or `core.sshCommand`: OpenSSH's client
/// reads the user's own configuration wherever `HOME` points. Dropping the server stops it.
#[derive(Debug)]
pub struct SshServer {
    listener: LoopbackListener,
    folder: TempDir,
    root: PathBuf,
}

impl SshServer {
    /// Starts it; `None` where OpenSSH's server or its `ssh-keygen` is not installed.
    pub fn start(root: &Path) -> Option<Self> {
        let program = PLACES.iter().map(Path::new).find(|path| path.exists())?;
        Command::new("ssh-keygen").arg("-?").output().ok()?;
        if rustix::process::getuid().is_root() {
            // Started by root, it insists on this empty folder, which the system makes at boot.
            let _ = fs::create_dir_all("/run/sshd");
        }
        let folder = tempfile::Builder::new()
            .prefix("twig-ssh-")
            .tempdir()
            .expect("a temporary folder");
        let config = folder.path().join("sshd_config");
        let listener = LoopbackListener::start(move |stream| {
            let mut command = Command::new(program);
            clean_environment(&mut command);
            command.arg("-i").arg("-f").arg(&config);
            run_on(stream, command);
        });
        let root = std::path::absolute(root).expect("a path");
        let server = Self {
            listener,
            folder,
            root,
        };
        server.configure();
        Some(server)
    }

    /// Where a repository is, by the name of its folder without `.git`.
    pub fn url(&self, name: &str) -> String {
        let address = self.address();
        format!("ssh://{address}{}", self.root.join(name).display())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The client to call, with the key and the host keys that it knows.
    pub fn command(&self) -> String {
        format!("ssh -F '{}'", self.file("ssh_config").display())
    }

    /// Gives the server another host key than the one that clients know.
    pub fn change_host_key(&self) {
        self.make_key("host_key");
    }

    /// Makes clients know no host key.
    pub fn forget_host_key(&self) {
        self.write("known_hosts", "");
    }

    /// Lets nobody in.
    pub fn refuse_keys(&self) {
        self.write("authorized_keys", "");
    }

    fn configure(&self) {
        let host_key = self.make_key("host_key");
        let user_key = self.make_key("user_key");
        let address = self.address();
        let known = format!("[{}]:{} {host_key}", address.ip(), address.port());
        self.write("known_hosts", &known);
        self.write("authorized_keys", &user_key);
        self.write("sshd_config", &self.server_config());
        self.write("ssh_config", &self.client_config());
    }

    fn server_config(&self) -> String {
        format!(
            "HostKey {}\n\
             AuthorizedKeysFile {}\n\
             AuthenticationMethods publickey\n\
             PermitRootLogin prohibit-password\n\
             StrictModes no\n\
             UsePAM no\n\
             PidFile none\n\
             AcceptEnv GIT_PROTOCOL\n\
             SetEnv PATH=\"{}\" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\n",
            self.file("host_key").display(),
            self.file("authorized_keys").display(),
            search_path().display(),
        )
    }

    fn client_config(&self) -> String {
        format!(
            "IdentityFile {}\n\
             IdentitiesOnly yes\n\
             IdentityAgent none\n\
             UserKnownHostsFile {}\n\
             GlobalKnownHostsFile /dev/null\n\
             StrictHostKeyChecking yes\n\
             BatchMode yes\n",
            self.file("user_key").display(),
            self.file("known_hosts").display(),
        )
    }

    /// Makes a pair of keys; returns the public one.
    fn make_key(&self, name: &str) -> String {
        let fresh = self.file("fresh_key");
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]);
        run(command.arg(&fresh), b"");
        let public = fresh.with_extension("pub");
        let text = fs::read_to_string(&public).expect("the public key");
        fs::remove_file(public).expect("the test's own folder is writable");
        fs::rename(fresh, self.file(name)).expect("the test's own folder is writable");
        text
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        fs::write(&path, text).expect("the test's own folder is writable");
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, mode).expect("the test's own folder is writable");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

//! How a browser comes in: which servers of this user run, and codes that work once.
//!
//! Both are files that only this user can read. A server keeps a lock on its file for as long as it
//! runs. A code is a file, too, named by its digest; who removes it, has used it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use twig_core::store::hex;
use twig_sources::platform::{create_private_folder, create_with_mode};

/// How long a code works.
const CODE: Duration = Duration::from_secs(60);

/// The folders beneath that of the page.
const SERVERS: &str = "servers";
const CODES: &str = "codes";

/// The file of a server that runs; it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningServer {
    path: PathBuf,
    _locked: File,
}

impl RunningServer {
    /// Says that a server with a page answers at this address.
    pub(crate) fn new(folder: &Path, address: &str) -> io::Result<Self> {
        let servers = private_folder(folder, SERVERS)?;
        let path = servers.join(format!("{}-{}", std::process::id(), &new_secret()?[..8]));
        let mut locked = new_file(&path)?;
        locked.try_lock().map_err(io::Error::from)?;
        locked.write_all(address.as_bytes())?;
        Ok(Self {
            path,
            _locked: locked,
        })
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The addresses of the servers with a page that run now, the one that was started last first.
pub(crate) fn running(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder.join(SERVERS)) else {
        return Vec::new();
    };
    let mut found: Vec<(SystemTime, String)> = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        match file.try_lock_shared() {
            // Its server has ended without a chance to remove it.
            Ok(()) => {
                let _ = fs::remove_file(&path);
            }
            Err(TryLockError::WouldBlock) => {
                let mut address = String::new();
                let started = file.metadata().and_then(|it| it.modified());
                if let (Ok(started), Ok(1..)) = (started, file.read_to_string(&mut address)) {
                    found.push((started, address));
                }
            }
            Err(TryLockError::Error(_)) => {}
        }
    }
    found.sort();
    found
        .into_iter()
        .rev()
        .map(|(_, address)| address)
        .collect()
}

/// Makes a code with which one browser may come in at this address, once.
pub(crate) fn new_code(folder: &Path, address: &str) -> io::Result<String> {
    let codes = private_folder(folder, CODES)?;
    remove_old(&codes);
    let code = new_secret()?;
    new_file(&codes.join(file_name(&code)))?.write_all(address.as_bytes())?;
    Ok(code)
}

/// Uses a code; false if there is none, it is over, or it is for another server.
pub(super) fn use_code(folder: &Path, code: &str, address: &str) -> bool {
    let path = folder.join(CODES).join(file_name(code));
    let Ok(file) = File::open(&path) else {
        return false;
    };
    let made = file.metadata().and_then(|it| it.modified());
    let is_young = made.is_ok_and(|made| is_within(made, CODE));
    let meant = fs::read_to_string(&path);
    // Two requests cannot both remove it.
    fs::remove_file(&path).is_ok() && is_young && meant.is_ok_and(|meant| meant == address)
}

/// A file that takes a browser to an address: the arguments of a program are public, its files are
/// not.
pub(crate) fn redirect_file(folder: &Path, link: &str) -> io::Result<PathBuf> {
    let codes = private_folder(folder, CODES)?;
    let path = codes.join(format!("{}.html", &new_secret()?[..16]));
    // A link is made of an address and a code, none of which has a character with a meaning here.
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Twig</title>"
    );
    new_file(&path)?.write_all(html.as_bytes())?;
    Ok(path)
}

/// The address by which this machine reaches a server that listens there.
pub(crate) fn address_here(address: SocketAddr, host: Option<&str>, has_tls: bool) -> String {
    let scheme = if has_tls { "https" } else { "http" };
    let port = address.port();
    // A certificate is for a name.
    if let Some(host) = host.filter(|_| has_tls) {
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        return if has_port {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{port}")
        };
    }
    if address.ip().is_unspecified() {
        return format!("{scheme}://127.0.0.1:{port}");
    }
    format!("{scheme}://{address}")
}

/// A new secret of 256 bits.
pub(super) fn new_secret() -> io::Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// True if a moment is no longer ago than that.
fn is_within(moment: SystemTime, time: Duration) -> bool {
    let ago = SystemTime::now().duration_since(moment);
    // A clock that was set back makes nothing older.
    ago.map_or(true, |ago| ago <= time)
}

fn file_name(code: &str) -> String {
    hex(&Sha256::digest(code).into())
}

fn remove_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|it| it.modified());
        if made.is_ok_and(|made| !is_within(made, CODE)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A folder for this user alone.
pub(super) fn private_folder(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    create_private_folder(&path)?;
    Ok(path)
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    create_with_mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_for_its_server_alone() {
        let folder = tempfile::tempdir().unwrap();
        let here = "http://127.0.0.1:1";
        let code = new_code(folder.path(), here).unwrap();
        assert!(!use_code(folder.path(), "other", here));
        assert!(use_code(folder.path(), &code, here));
        assert!(!use_code(folder.path(), &code, here));
        let code = new_code(folder.path(), "http://127.0.0.1:2").unwrap();
        assert!(!use_code(folder.path(), &code, here));
        let old = new_code(folder.path(), here).unwrap();
        let path = folder.path().join(CODES).join(file_name(&old));
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - 2 * CODE).unwrap();
        assert!(!use_code(folder.path(), &old, here));
    }

    #[test]
    fn only_servers_that_run_are_found() {
        let folder = tempfile::tempdir().unwrap();
        assert!(running(folder.path()).is_empty());
        let entry = RunningServer::new(folder.path(), "http://127.0.0.1:1").unwrap();
        assert_eq!(running(folder.path()), ["http://127.0.0.1:1"]);
        // Like one that was killed.
        let left = folder.path().join(SERVERS).join("left");
        new_file(&left)
            .unwrap()
            .write_all(b"http://127.0.0.1:2")
            .unwrap();
        assert_eq!(running(folder.path()).len(), 1);
        assert!(!left.exists());
        drop(entry);
        assert!(running(folder.path()).is_empty());
    }

    #[test]
    fn everything_is_for_this_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let code = new_code(folder.path(), "http://127.0.0.1:1").unwrap();
        let redirect = redirect_file(folder.path(), "http://127.0.0.1:1/#enter=x").unwrap();
        let code = folder.path().join(CODES).join(file_name(&code));
        let modes = [folder.path().join(CODES), code, redirect]
            .map(|path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600, 0o600]);
    }
}

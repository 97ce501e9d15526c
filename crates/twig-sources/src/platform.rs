//! What operating systems do differently with files and processes; nothing else in this crate calls
//! them past the standard library and `cap-std`.
//!
//! There are two twins with the same functions: `platform/unix.rs`, and `platform/portable.rs` for
//! every other system, which has nothing but the standard library. A port is a third. The twin of
//! other systems is built and tested on Unix with `--cfg twig_portable`.

#[cfg(any(not(unix), twig_portable))]
mod portable;
#[cfg(all(unix, not(twig_portable)))]
mod unix;

use std::fs::Metadata;

#[cfg(any(not(unix), twig_portable))]
use self::portable as system;
#[cfg(all(unix, not(twig_portable)))]
use self::unix as system;

pub(crate) use self::system::{
    can_read, can_write, create_beneath_with_mode, dir_facts, folder_facts, folder_lock,
    give_owner, has_symlink_loop, kill_group, kind_of, mode_beneath, network_kind, never_wait,
    own_group, owner, reserve, set_mode_beneath, step_into, sync_folder, sync_folder_at,
};
pub use self::system::{
    create_private_folder, create_with_mode, facts, mode, never_follow, set_mode, this_user, user,
};

/// What tells files apart, and one state of a file from another.
#[derive(Debug, Clone, Copy)]
pub struct FileFacts {
    /// The file system.
    pub device: u64,
    /// The number of the file there.
    pub inode: u64,
    /// How many names it has.
    pub links: u64,
    /// Nanoseconds since 1970; users can set it.
    pub modified: i64,
    /// Nanoseconds since 1970; only the system sets it.
    pub changed: i64,
}

/// The user and the group of a file.
pub(crate) type FileOwner = (u32, u32);

/// True if somebody can run the file. Systems without modes have no executable files.
pub fn is_executable(metadata: &Metadata) -> bool {
    mode(metadata).is_some_and(|mode| mode & 0o111 != 0)
}

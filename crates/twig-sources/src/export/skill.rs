//! Writes and removes one prompt's file and, for a skill, its bundled files.

use sha2::{Digest, Sha256};
use twig_clients::export::ExportItem;
use twig_core::{Bodies, RelativePath};

use super::disk::ExportFolder;
use super::look::{beside, is_executable};

/// Writes a prompt. `before` are the files that came with its earlier export; those no longer among
/// them are removed. The main file is written last: until then the earlier one is in place.
pub(super) fn write(
    disk: &ExportFolder<'_>,
    item: &ExportItem,
    bodies: &dyn Bodies,
    before: &[RelativePath],
    is_kept: bool,
    backups: &mut Vec<String>,
) -> Result<(), String> {
    for file in &item.bundled {
        let to = beside(&item.path, &file.to);
        let why = |why: String| format!("{} {why}", file.to);
        if disk.digest(&to) == Some(file.digest) {
            if is_executable(file) && !disk.is_executable(&to) {
                disk.make_executable(&to).map_err(why)?;
            }
            continue;
        }
        let limit = usize::try_from(file.size).unwrap_or(usize::MAX);
        let blob = bodies.bytes(&file.library, &file.path, limit);
        let bytes = match blob {
            Ok(blob) if <[u8; 32]>::from(Sha256::digest(&blob.bytes)) == file.digest => blob.bytes,
            Ok(_) => return Err(format!("{} changed meanwhile: export it again", file.path)),
            Err(error) => return Err(format!("{} {error}", file.path)),
        };
        if is_kept {
            backups.extend(disk.keep(&to)?);
        }
        disk.write(&to, &bytes).map_err(why)?;
        if is_executable(file) {
            disk.make_executable(&to).map_err(why)?;
        }
    }
    if is_kept {
        backups.extend(disk.keep(&item.path)?);
    }
    disk.write(&item.path, item.text.as_bytes())?;
    let is_gone = |path: &&RelativePath| !item.bundled.iter().any(|file| file.to == path.as_str());
    for path in before.iter().filter(is_gone) {
        // It is no longer part of the skill; leaving it there does no harm.
        let _ = disk.remove(&beside(&item.path, path.as_str()));
        empty_folders(disk, &item.path, path);
    }
    Ok(())
}

/// Removes an export and the files that came with it.
pub(super) fn remove(
    disk: &ExportFolder<'_>,
    path: &str,
    bundled: &[RelativePath],
) -> Result<(), String> {
    disk.remove(path)?;
    for file in bundled {
        let _ = disk.remove(&beside(path, file.as_str()));
        empty_folders(disk, path, file);
    }
    if let Some((folder, _)) = path.rsplit_once('/') {
        disk.remove_folder(folder);
    }
    Ok(())
}

/// Removes the empty folders of a removed file, from the inside out.
fn empty_folders(disk: &ExportFolder<'_>, path: &str, file: &RelativePath) {
    let mut folder = file.folder();
    while !folder.is_empty() {
        disk.remove_folder(&beside(path, folder));
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

//! Skills: the extension `io.modelcontextprotocol/skills`.

mod directory;
mod get;
mod list;
mod read;

use std::sync::Arc;

use serde_json::{Value, json};
use twig_core::document::{Document, DocumentSource, mime_of_name};
use twig_core::uri::encode;
use twig_core::{Library, RelativePath, Skill, SkillFile};

use crate::support::{Peer, library};

/// A library of skills with these files; a folder with a `SKILL.md` is a skill, and has every file
/// that is in it or below.
fn with_skills(name: &str, paths: &[&str]) -> Library {
    let mut library = library(name, 1, Vec::new());
    let uri = |path: &str| -> Box<str> { format!("skill://{name}/{}", encode(path)).into() };
    let mut paths = paths.to_vec();
    paths.sort_by_key(|path| uri(path));
    for path in &paths {
        let folder = path.strip_suffix("SKILL.md");
        library.documents.push(document(uri(path), path));
        let Some(folder) = folder.filter(|folder| folder.ends_with('/')) else {
            continue;
        };
        let own = folder.trim_end_matches('/');
        let own = own.rsplit('/').next().unwrap_or_default();
        let files = paths.iter().filter(|path| path.starts_with(folder));
        let files = files.map(|path| SkillFile {
            uri: uri(path),
            digest: [u8::try_from(path.len()).unwrap(); 32],
            size: 7,
        });
        library.skills.push(Arc::new(Skill {
            name: own.into(),
            uri: uri(path),
            front_matter:
                json!({"name": own, "description": format!("Does {own}"), "license": "MIT"})
                    .to_string()
                    .into(),
            files: files.collect(),
            is_unlisted: false,
        }));
    }
    library
}

fn document(uri: Box<str>, path: &str) -> Document {
    let path = RelativePath::parse(path).unwrap();
    Document {
        uri,
        short_uri: None,
        name: path.file_name().into(),
        title: None,
        description: None,
        mime: mime_of_name(path.file_name())
            .unwrap_or("text/plain")
            .into(),
        is_text: true,
        source: DocumentSource::File(path),
        size: 7,
        modified: None,
        version: 1,
    }
}

fn peer(paths: &[&str]) -> Peer {
    let library = with_skills("team", paths);
    Peer::with(vec![library], twig_core::Limits::default())
}

/// What a client finds that goes into every folder, sorted.
fn walk(peer: &mut Peer, folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for child in all(peer, &folder) {
            let uri = child["uri"].as_str().unwrap().to_owned();
            if child["mimeType"] == "inode/directory" {
                folders.push(uri);
            } else {
                files.push(uri);
            }
        }
    }
    files.sort();
    files
}

/// Every child of a folder, page after page.
fn all(peer: &mut Peer, folder: &str) -> Vec<Value> {
    let mut children = Vec::new();
    let mut params = json!({"uri": folder});
    loop {
        let reply = peer.ask("resources/directory/read", params.clone());
        let page = reply["result"]["resources"].as_array();
        children.extend(page.unwrap_or_else(|| panic!("{reply}")).clone());
        let Some(cursor) = reply["result"].get("nextCursor") else {
            return children;
        };
        params["cursor"] = cursor.clone();
    }
}

/// The URIs of a skill's entry.
fn manifest(entry: &Value) -> Vec<String> {
    let files = entry["resources"].as_array().unwrap().iter();
    files
        .map(|file| file["uri"].as_str().unwrap().to_owned())
        .collect()
}

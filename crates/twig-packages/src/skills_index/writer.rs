//! Writes an index of skills, as [`SkillsIndex::parse`] reads it.

use serde::Serialize;

use super::{IndexedKind, IndexedSkill, SkillsIndex};
use crate::tree::hex;

/// Installers compare it byte for byte to tell the versions apart.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

#[derive(Serialize)]
struct WrittenIndex<'i> {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    skills: Vec<WrittenSkill<'i>>,
}

#[derive(Serialize)]
struct WrittenSkill<'i> {
    name: &'i str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    description: &'i str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'i str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'i [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl SkillsIndex {
    /// The text of the index: version 0.1 if it lists the files of a skill, else 0.2.0.
    pub fn to_json(&self) -> String {
        let is_list = |skill: &IndexedSkill| matches!(skill.kind, IndexedKind::Files(_));
        let written = WrittenIndex {
            schema: (!self.skills.iter().any(is_list)).then_some(SCHEMA),
            skills: self.skills.iter().map(written).collect(),
        };
        // Texts and lists of them always become JSON.
        let mut text = serde_json::to_string(&written).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn written(skill: &IndexedSkill) -> WrittenSkill<'_> {
    let (kind, files) = match &skill.kind {
        IndexedKind::SkillMd => (Some("skill-md"), None),
        IndexedKind::Archive => (Some("archive"), None),
        IndexedKind::Files(files) => (None, Some(files.as_slice())),
    };
    let digest = skill.digest.as_ref();
    WrittenSkill {
        name: &skill.name,
        kind,
        description: &skill.description,
        // The address of a list of files follows from the name.
        url: files.is_none().then_some(&*skill.url),
        files,
        digest: digest.map(|digest| format!("sha256:{}", hex(digest))),
    }
}

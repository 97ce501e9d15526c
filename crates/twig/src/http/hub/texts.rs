//! The pages of the hub.

use twig_mcp::{SERVER_CARD_TYPE, ServerCard, ServerIdentity};
use twig_packages::published::{
    AiCatalog, MarketplacePlugin, PluginMarketplace, PublishedArtifact, PublishedSkill, ai_catalog,
    marketplace,
};
use twig_packages::skills_index::{IndexedKind, LONGEST_INDEX, MOST_OLD_FILES, MOST_SKILLS};
use twig_packages::{IndexedSkill, SkillsIndex};

use super::HubRefusal;
use super::page::HubPage;
use super::reply::{BYTES, HubReply, JSON, MARKDOWN};
use super::settings::{HubSettings, domain};
use super::skills::{HubSkills, OfferedPrompts, SkillDraft, plugin_name};

/// Where the skills of the index are.
const SKILLS: &str = "/.well-known/agent-skills/";
const CATALOG: &str = "application/ai-catalog+json";
const SKILL_MD: &str = "application/agent-skills+md";
const SKILL_ZIP: &str = "application/agent-skills+zip";

/// What the pages say beside the skills.
pub(super) struct HubTexts<'h> {
    /// The address of the hub, without a `/` at its end.
    pub(super) base: String,
    pub(super) settings: &'h HubSettings,
    pub(super) needs_token: bool,
    pub(super) identity: &'h ServerIdentity,
}

impl HubTexts<'_> {
    /// The server card.
    pub(super) fn server_card(&self) -> HubReply {
        let url = format!("{}/mcp", self.base);
        let card = ServerCard {
            domain: domain(&self.base),
            url: &url,
            title: self.settings.title.as_deref(),
            description: self.settings.description(),
            needs_token: self.needs_token,
        };
        HubReply::new(SERVER_CARD_TYPE, card.to_json(self.identity).into_bytes())
    }

    /// Any other page.
    pub(super) fn page(
        &self,
        page: &HubPage,
        skills: &HubSkills<'_>,
        offered: &OfferedPrompts<'_>,
    ) -> Result<HubReply, HubRefusal> {
        let json = |text: String| HubReply::new(JSON, text.into_bytes());
        match page {
            HubPage::Index => Ok(json(index(skills, offered)?.to_json())),
            HubPage::OldIndex => Ok(json(old_index(skills, offered).to_json())),
            HubPage::File { skill, path } => {
                let draft = skills.find(offered, skill).ok_or(HubRefusal::Missing)?;
                let bytes = skills.file(draft, path).ok_or(HubRefusal::Missing)?;
                let is_text = path.to_ascii_lowercase().ends_with(".md");
                Ok(HubReply::new(if is_text { MARKDOWN } else { BYTES }, bytes))
            }
            HubPage::Archive(name) => {
                let draft = skills.find(offered, name).ok_or(HubRefusal::Missing)?;
                if draft.kind() != IndexedKind::Archive {
                    return Err(HubRefusal::Missing);
                }
                skills.archive(&draft).map(HubReply::archive)
            }
            HubPage::Marketplace => Ok(json(self.marketplace(skills, offered)?)),
            HubPage::Plugin(name) => {
                let plugins = offered.plugins();
                let plugin = plugins.iter().find(|plugin| plugin.name == *name);
                let archive = skills.plugin(offered, plugin.ok_or(HubRefusal::Missing)?)?;
                archive.map(HubReply::archive).ok_or(HubRefusal::Missing)
            }
            HubPage::Catalog => {
                let text = self.catalog(skills, offered)?;
                Ok(HubReply::new(CATALOG, text.into_bytes()))
            }
            HubPage::ServerCard => Ok(self.server_card()),
        }
    }

    /// The skills of each library as a plugin.
    fn marketplace(
        &self,
        skills: &HubSkills<'_>,
        offered: &OfferedPrompts<'_>,
    ) -> Result<String, HubRefusal> {
        let mut plugins = Vec::new();
        for plugin in offered.plugins() {
            if let Some(archive) = skills.plugin(offered, &plugin)? {
                plugins.push(MarketplacePlugin {
                    url: format!("{}/.claude-plugin/plugins/{}.zip", self.base, plugin.name),
                    name: plugin.name,
                    description: plugin.description,
                    digest: archive.digest,
                });
            }
        }
        let title = self.settings.title();
        Ok(marketplace(&PluginMarketplace {
            name: plugin_name(title),
            owner: title.to_owned(),
            description: self.settings.description.clone(),
            plugins,
        }))
    }

    /// The server and every skill.
    fn catalog(
        &self,
        skills: &HubSkills<'_>,
        offered: &OfferedPrompts<'_>,
    ) -> Result<String, HubRefusal> {
        let domain = domain(&self.base).trim_matches(['[', ']']);
        let domain = domain.replace(':', "-");
        let server = PublishedArtifact {
            identifier: PublishedArtifact::identifier(&domain, "mcp", &self.identity.name),
            media_type: SERVER_CARD_TYPE,
            url: format!("{}/mcp/server-card", self.base),
            title: None,
            description: None,
        };
        let index = index(skills, offered)?;
        let others = index.skills.into_iter().map(|skill| PublishedArtifact {
            identifier: PublishedArtifact::identifier(&domain, "skill", &skill.name),
            media_type: match skill.kind {
                IndexedKind::SkillMd => SKILL_MD,
                _ => SKILL_ZIP,
            },
            url: format!("{}{SKILLS}{}", self.base, skill.url),
            title: Some(skill.name),
            description: Some(skill.description),
        });
        Ok(ai_catalog(&AiCatalog {
            title: self.settings.title().to_owned(),
            artifacts: [server].into_iter().chain(others).collect(),
        }))
    }
}

/// Every skill with the digest of what installers fetch.
fn index(skills: &HubSkills<'_>, offered: &OfferedPrompts<'_>) -> Result<SkillsIndex, HubRefusal> {
    let mut index = GrowingIndex::default();
    for (name, found) in offered.all() {
        let Some(draft) = skills.draft(offered, name, found) else {
            continue;
        };
        let digest = match skills.digest(&draft) {
            Ok(digest) => Some(digest),
            // One of its files is gone.
            Err(HubRefusal::Missing) => continue,
            Err(other) => return Err(other),
        };
        let is_in = index.push(IndexedSkill {
            url: artifact_path(&draft),
            kind: draft.kind(),
            name: draft.name,
            description: draft.description,
            digest,
        });
        if !is_in {
            skills.log_end(name);
            break;
        }
    }
    Ok(index.index)
}

/// An index that stays as short as Twig reads it.
#[derive(Default)]
struct GrowingIndex {
    index: SkillsIndex,
    bytes: usize,
}

impl GrowingIndex {
    /// Adds a skill; false if there is no room for it.
    fn push(&mut self, skill: IndexedSkill) -> bool {
        let files = match &skill.kind {
            IndexedKind::Files(files) => files.as_slice(),
            _ => &[],
        };
        let texts = [&skill.name, &skill.description, &skill.url].into_iter();
        let texts = texts.chain(files).map(|text| written_length(text));
        // Its keys, its type and its digest.
        self.bytes += texts.sum::<usize>() + 160;
        let is_full = self.index.skills.len() >= MOST_SKILLS || self.bytes > LONGEST_INDEX - 160;
        if !is_full {
            self.index.skills.push(skill);
        }
        !is_full
    }
}

/// The bytes of a text in JSON, with its quotes and a comma.
fn written_length(text: &str) -> usize {
    let escaped = |c: char| match c {
        '"' | '\\' => 2,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    };
    text.chars().map(escaped).sum::<usize>() + 3
}

/// The path of what installers fetch of a skill, from the folder of the index.
fn artifact_path(draft: &SkillDraft) -> String {
    match draft.kind() {
        IndexedKind::Archive => PublishedSkill::archive_path(&draft.name),
        _ => PublishedSkill::file_path(&draft.name, "SKILL.md"),
    }
}

/// Every skill with the list of its files. Installers of that version refuse a whole index because of
/// one path with `..` in it.
fn old_index(skills: &HubSkills<'_>, offered: &OfferedPrompts<'_>) -> SkillsIndex {
    let mut index = GrowingIndex::default();
    for (name, found) in offered.all() {
        let Some(draft) = skills.draft(offered, name, found) else {
            continue;
        };
        let files = draft.paths();
        if files.len() > MOST_OLD_FILES || files.iter().any(|path| path.contains("..")) {
            continue;
        }
        let is_in = index.push(IndexedSkill {
            url: PublishedSkill::file_path(&draft.name, ""),
            kind: IndexedKind::Files(files),
            name: draft.name,
            description: draft.description,
            digest: None,
        });
        if !is_in {
            skills.log_end(name);
            break;
        }
    }
    index.index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(at: usize, description: &str) -> IndexedSkill {
        IndexedSkill {
            name: format!("skill-{at}"),
            description: description.to_owned(),
            kind: IndexedKind::SkillMd,
            url: format!("skill-{at}/SKILL.md"),
            digest: Some([0xff; 32]),
        }
    }

    #[test]
    fn an_index_ends_where_twig_would_stop_reading() {
        for description in ["d", "\"", "\u{1}", "\u{1f333}", &"long ".repeat(200)] {
            let mut index = GrowingIndex::default();
            let count = (0..=MOST_SKILLS).find(|at| !index.push(skill(*at, description)));
            let text = index.index.to_json();
            assert!(text.len() <= LONGEST_INDEX, "{} {description}", text.len());
            let read = SkillsIndex::parse(&text).map(|index| index.skills.len());
            assert_eq!(read.ok(), count);
        }
    }
}

//! The skills of all libraries, by URI.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Catalog;
use crate::model::{Library, SKILL_FILE, Skill};
use crate::name::RelativePath;
use crate::problem::{Problem, ProblemCode, Severity};
use crate::suggest;

/// A skill together with the library it is in.
#[derive(Debug, Clone, Copy)]
pub struct SkillRef<'c> {
    /// The library.
    pub library: &'c Arc<Library>,
    /// The skill.
    pub skill: &'c Skill,
}

#[derive(Debug, Default)]
pub(super) struct SkillIndex {
    /// Places of all skills that are served, sorted by URI.
    listed: Vec<SkillPosition>,
    /// The same by URI.
    by_uri: HashMap<Box<str>, SkillPosition>,
}

#[derive(Debug, Clone, Copy)]
struct SkillPosition {
    library: u32,
    skill: u32,
}

impl SkillIndex {
    /// Indexes skills. A skill is omitted if its own library does not serve all of its files: a
    /// client that verifies them would get content that differs from the list.
    pub(super) fn new(catalog: &Catalog, problems: &mut Vec<Problem>) -> Self {
        let mut index = Self::default();
        let (libraries, documents) = (catalog.libraries(), &catalog.documents);
        for (library_at, library) in (0..).zip(libraries) {
            let is_whole = catalog.is_whole(library);
            let offered = catalog.offered_skills(library);
            for (skill_at, skill) in (0..).zip(&library.skills) {
                let folder = skill.uri.strip_suffix(SKILL_FILE);
                if !is_whole && !folder.is_some_and(|folder| offered.contains(folder)) {
                    continue;
                }
                let mut uris = [&skill.uri]
                    .into_iter()
                    .chain(skill.files.iter().map(|it| &it.uri));
                if let Some(uri) = uris.find(|uri| documents.library_of(uri) != Some(library_at)) {
                    problems.push(shadowed(library, skill, uri));
                    continue;
                }
                let place = SkillPosition {
                    library: library_at,
                    skill: skill_at,
                };
                if let Entry::Vacant(free) = index.by_uri.entry(skill.uri.clone()) {
                    free.insert(place);
                    index.listed.push(place);
                }
            }
        }
        let uri = |place: &SkillPosition| {
            &libraries[place.library as usize].skills[place.skill as usize].uri
        };
        index.listed.sort_by(|one, two| uri(one).cmp(uri(two)));
        index
    }
}

impl Catalog {
    /// How many skills there are.
    pub fn skill_count(&self) -> usize {
        self.skills.listed.len()
    }

    /// The skills, sorted by URI, from `offset` on.
    pub fn skills(&self, offset: usize) -> impl ExactSizeIterator<Item = SkillRef<'_>> {
        let rest = self.skills.listed.get(offset..).unwrap_or_default();
        rest.iter().map(|place| self.skill_at(*place))
    }

    /// The skill whose `SKILL.md` has this URI.
    pub fn skill(&self, uri: &str) -> Option<SkillRef<'_>> {
        let place = self.skills.by_uri.get(uri)?;
        Some(self.skill_at(*place))
    }

    /// The folders of a library's skills whose prompt is offered, though their library is not.
    pub(super) fn offered_skills<'l>(&self, library: &'l Library) -> HashSet<&'l str> {
        if self.is_whole(library) {
            return HashSet::new();
        }
        let prompts = self.prompts_of(library);
        let messages = prompts.flat_map(|prompt| &prompt.messages);
        let files: HashSet<&RelativePath> = messages
            .filter_map(|message| message.content.file())
            .collect();
        let documents = &library.documents;
        let is_offered = |skill: &&Arc<Skill>| {
            let at = documents.binary_search_by(|document| document.uri.cmp(&skill.uri));
            let file = at.ok().and_then(|at| documents[at].file());
            file.is_some_and(|file| files.contains(file))
        };
        let skills = library.skills.iter().filter(is_offered);
        skills
            .filter_map(|skill| skill.uri.strip_suffix(SKILL_FILE))
            .collect()
    }

    /// URIs similar to one that is no skill; the skill that contains it comes first.
    pub fn near_skills(&self, uri: &str) -> Vec<String> {
        let folder = uri.trim_end_matches('/');
        if let Some(found) = self.skill(&format!("{folder}/{SKILL_FILE}")) {
            return vec![found.skill.uri.to_string()];
        }
        suggest::near(uri, self.skills(0).map(|found| &*found.skill.uri))
    }

    /// The innermost skill whose folder is this one or contains it.
    pub(super) fn skill_around(&self, folder: &str) -> Option<SkillRef<'_>> {
        let mut folder = folder;
        while !folder.is_empty() {
            if let Some(found) = self.skill(&format!("{folder}/{SKILL_FILE}")) {
                return Some(found);
            }
            (folder, _) = folder.rsplit_once('/')?;
        }
        None
    }

    fn skill_at(&self, place: SkillPosition) -> SkillRef<'_> {
        let library = &self.libraries[place.library as usize];
        SkillRef {
            library,
            skill: &library.skills[place.skill as usize],
        }
    }
}

fn shadowed(library: &Library, skill: &Skill, uri: &str) -> Problem {
    let message = format!(
        "the skill `{}` is not served as a skill: its file `{uri}` is another library's",
        skill.name
    );
    Problem::of_file(
        ProblemCode::ShadowedSkill,
        Severity::Warning,
        &library.root,
        message,
    )
    .with_help("rename one of the two folders")
}

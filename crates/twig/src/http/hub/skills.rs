//! The shown prompts of a catalog as skills.
//!
//! A skill whose `SKILL.md` is fit for every installer is published byte for byte; any other prompt as
//! `twig export` would write it. Nothing is run for that: prompts of functions and templates that have
//! to be computed are left out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use twig_clients::clients::ExportFormat;
use twig_clients::export::{BundledFile, FileNames, ShellTranslation, plan, skill_source};
use twig_core::catalog::{Lookup, PromptRef};
use twig_core::front_matter;
use twig_core::slug::{Unique, file_slug};
use twig_core::template::{EngineError, JobOutcome, Templates};
use twig_core::{Bodies, Catalog, Latest, Library, LibraryKind, World};
use twig_packages::published::{
    PublishedSkill, digest_of_parts, plugin_files, published_description, published_digest,
    published_kind,
};
use twig_packages::skills_index::{IndexedKind, MOST_SKILLS};
use twig_packages::tree::path_trouble;
use twig_packages::{FileMode, UnpackedFile, write_zip};

use super::HubRefusal;
use super::archives::{ArchiveKey, HubArchive, HubArchives};

/// The most bytes that the files of one archive may have together.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// The most files of one skill: other installers read no more.
const MOST_FILES: usize = 1_000;
/// How many catalogs have their names kept: callers may see different ones.
const KNOWN_CATALOGS: usize = 16;

/// What skills are made with.
pub(super) struct HubSkills<'h> {
    pub(super) files: &'h dyn Bodies,
    pub(super) templates: &'h Templates,
    pub(super) archives: &'h HubArchives,
    pub(super) names: &'h KnownNames,
    /// True once it was logged that an index is not whole.
    pub(super) is_end_logged: &'h AtomicBool,
    /// False if only archives that are there may be used.
    pub(super) may_build: bool,
}

/// The prompts that a catalog shows, each with the name of its skill.
pub(super) struct OfferedPrompts<'c> {
    world: World<'c>,
    names: &'c FileNames,
}

/// The names of the skills of the catalogs that were asked for last.
#[derive(Default)]
pub(super) struct KnownNames(Mutex<VecDeque<(Weak<Catalog>, Arc<FileNames>)>>);

impl KnownNames {
    /// The names of a catalog. An installer asks for each skill by its name, and finding the names of
    /// all of them takes much longer than the answer.
    fn of(&self, world: World<'_>) -> Arc<FileNames> {
        let catalog: &Arc<Catalog> = world.catalog;
        let is_same = |(known, _): &&(Weak<Catalog>, _)| known.as_ptr() == Arc::as_ptr(catalog);
        if let Some((_, names)) = self.known().iter().find(is_same) {
            return Arc::clone(names);
        }
        let shown = catalog.shown_prompts(0);
        let names = Arc::new(FileNames::new(world, ExportFormat::Skills, shown));
        let mut known = self.known();
        if known.len() >= KNOWN_CATALOGS {
            known.pop_front();
        }
        known.push_back((Arc::downgrade(catalog), Arc::clone(&names)));
        names
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<(Weak<Catalog>, Arc<FileNames>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'c> OfferedPrompts<'c> {
    /// All of them, sorted by the names of the skills.
    pub(super) fn all(&self) -> Vec<(&'c str, PromptRef<'c>)> {
        let shown = self.world.catalog.shown_prompts(0);
        let named = shown.filter_map(|found| Some((self.names.name_of(found)?, found)));
        let mut prompts: Vec<(&str, PromptRef<'_>)> = named.collect();
        prompts.sort_by_key(|(name, _)| *name);
        prompts
    }

    /// The plugins of a marketplace: the skills of each library.
    pub(super) fn plugins(&self) -> Vec<HubPlugin<'c>> {
        let mut libraries: BTreeMap<&str, (&Arc<Library>, Vec<_>)> = BTreeMap::new();
        for (name, found) in self.all() {
            let entry = libraries.entry(found.library.name.as_str());
            let (_, prompts) = entry.or_insert_with(|| (found.library, Vec::new()));
            prompts.push((name, found));
        }
        let mut unique = Unique::new();
        let libraries = libraries.into_iter();
        let plugins = libraries.map(|(name, (library, prompts))| {
            let about = &library.about;
            let own = about.description.as_deref().or(about.title.as_deref());
            let description = published_description(own.unwrap_or_default());
            HubPlugin {
                name: unique.name(&plugin_name(name), name),
                description: if description.is_empty() {
                    format!("Skills of the library {name}")
                } else {
                    description
                },
                prompts,
            }
        });
        plugins.collect()
    }
}

/// A skill before its other files are read.
pub(super) struct SkillDraft {
    pub(super) name: String,
    pub(super) description: String,
    /// Its `SKILL.md`.
    main: Vec<u8>,
    bundled: Vec<BundledFile>,
    key: ArchiveKey,
}

/// The skills of one library.
pub(super) struct HubPlugin<'c> {
    pub(super) name: String,
    pub(super) description: String,
    prompts: Vec<(&'c str, PromptRef<'c>)>,
}

impl SkillDraft {
    /// What installers fetch of it.
    pub(super) fn kind(&self) -> IndexedKind {
        published_kind(1 + self.bundled.len())
    }

    /// The paths of its files, sorted.
    pub(super) fn paths(&self) -> Vec<String> {
        let bundled = self.bundled.iter().map(|file| file.to.clone());
        let mut paths: Vec<String> = bundled.chain(["SKILL.md".to_owned()]).collect();
        paths.sort();
        paths
    }

    fn size(&self) -> u64 {
        let bundled: u64 = self.bundled.iter().map(|file| file.size).sum();
        bundled.saturating_add(self.main.len() as u64)
    }
}

impl HubSkills<'_> {
    /// Works with the prompts that a catalog shows.
    pub(super) fn with<T>(
        &self,
        catalog: &Arc<Catalog>,
        work: impl FnOnce(&OfferedPrompts<'_>) -> T,
    ) -> T {
        let latest = Latest::from(Arc::clone(catalog));
        let world = World {
            catalog: &latest,
            bodies: self.files,
            templates: self.templates,
        };
        let names = self.names.of(world);
        work(&OfferedPrompts {
            world,
            names: &names,
        })
    }

    /// Logs that the index has no room for this skill and those after it, once.
    pub(super) fn log_end(&self, name: &str) {
        if !self.is_end_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the index of the hub ends before `{name}`: it may have {MOST_SKILLS} skills and 1 MiB"
            );
        }
    }

    /// The skill with this name.
    pub(super) fn find(&self, offered: &OfferedPrompts<'_>, name: &str) -> Option<SkillDraft> {
        let prompt = offered.names.prompt_of(name)?;
        match offered.world.catalog.find(prompt) {
            Lookup::Found(found) => self.draft(offered, name, found),
            Lookup::Ambiguous(_) | Lookup::NoLabel(_) | Lookup::Missing => None,
        }
    }

    /// A prompt as a skill; `None` if no skill can be made of it.
    pub(super) fn draft(
        &self,
        offered: &OfferedPrompts<'_>,
        name: &str,
        found: PromptRef<'_>,
    ) -> Option<SkillDraft> {
        let left_out = |why: &str| tracing::debug!("`{name}` is not in the hub: {why}");
        let as_it_is = match self.as_it_is(offered, name, found) {
            Ok(draft) => draft,
            Err(why) => {
                left_out(why);
                return None;
            }
        };
        let draft = as_it_is.or_else(|| self.exported(offered, name, found))?;
        if draft.size() > MOST_BYTES || draft.bundled.len() >= MOST_FILES {
            left_out("it has more than 1,000 files or 32 MiB");
            return None;
        }
        let is_bad = |file: &BundledFile| path_trouble(&format!("{name}/{}", file.to)).is_some();
        if draft.bundled.iter().any(is_bad) {
            left_out("a file of it has a name that no package may have");
            return None;
        }
        Some(draft)
    }

    /// A skill with its own `SKILL.md`, if every installer reads that as Twig does.
    fn as_it_is(
        &self,
        offered: &OfferedPrompts<'_>,
        name: &str,
        found: PromptRef<'_>,
    ) -> Result<Option<SkillDraft>, &'static str> {
        let library = found.library;
        if library.kind != LibraryKind::Skills {
            return Ok(None);
        }
        let Some(source) = skill_source(offered.world, found) else {
            return Ok(None);
        };
        if source.is_partial {
            return Err(
                "it has more files than a list of them may hold, or one that is unreadable",
            );
        }
        let limit = offered.world.templates.limits().library_file();
        let main = self.files.bytes(library, &source.main, limit);
        let Ok(main) = main.map(|blob| blob.bytes) else {
            return Err("its `SKILL.md` cannot be read");
        };
        Ok(self.sealed(offered, name, main, source.bundled))
    }

    /// A prompt as `twig export` would write it.
    fn exported(
        &self,
        offered: &OfferedPrompts<'_>,
        name: &str,
        found: PromptRef<'_>,
    ) -> Option<SkillDraft> {
        let mut compute = |_: &_| {
            let why = "its template has to be computed, which a hub does not do";
            JobOutcome::Failed(Box::new(EngineError::limit(why)))
        };
        let (format, translation) = (ExportFormat::Skills, ShellTranslation::Off);
        let (world, names) = (offered.world, offered.names);
        let mut plan = plan(world, format, translation, names, [found], &mut compute);
        for skipped in &plan.left {
            tracing::debug!("`{}` is not in the hub: {}", skipped.prompt, skipped.why);
        }
        let item = plan.items.pop()?;
        self.sealed(offered, name, item.text.into_bytes(), item.bundled)
    }

    /// The draft of a skill; `None` if its `SKILL.md` does not have this name and a description, or
    /// could be read in another way.
    fn sealed(
        &self,
        offered: &OfferedPrompts<'_>,
        name: &str,
        main: Vec<u8>,
        bundled: Vec<BundledFile>,
    ) -> Option<SkillDraft> {
        let text = std::str::from_utf8(&main).ok()?;
        let front = front_matter::read(text, offered.world.templates.limits());
        let is_strict = text.starts_with("---") && front.repairs.is_empty();
        if !is_strict || front.fields.text("name") != Some(name) {
            return None;
        }
        let description = published_description(front.fields.text("description")?);
        if description.is_empty() {
            return None;
        }
        let mut stamps = Vec::with_capacity(bundled.len());
        for file in &bundled {
            let stamp = self.files.stamp(&file.library, &file.path).ok()?;
            stamps.push(stamp.0.to_le_bytes());
        }
        let parts = [name.as_bytes(), &main].into_iter();
        let files = bundled.iter().zip(&stamps);
        let files = files.flat_map(|(file, stamp)| [file.to.as_bytes(), &file.digest, stamp]);
        let key = digest_of_parts(parts.chain(files));
        Some(SkillDraft {
            name: name.to_owned(),
            description,
            main,
            bundled,
            key,
        })
    }

    /// SHA-256 of what installers fetch of a skill.
    pub(super) fn digest(&self, draft: &SkillDraft) -> Result<[u8; 32], HubRefusal> {
        if draft.kind() == IndexedKind::SkillMd {
            return Ok(published_digest(&draft.main));
        }
        match self.archives.digest(&draft.key) {
            Some(digest) => Ok(digest),
            None => Ok(self.archive(draft)?.digest),
        }
    }

    /// The archive of a skill.
    pub(super) fn archive(&self, draft: &SkillDraft) -> Result<HubArchive, HubRefusal> {
        self.archive_of(draft.key, || Some(self.files(draft)?.files))
    }

    /// One file of a skill.
    pub(super) fn file(&self, draft: SkillDraft, path: &str) -> Option<Vec<u8>> {
        if path == "SKILL.md" {
            return Some(draft.main);
        }
        let file = draft.bundled.iter().find(|file| file.to == path)?;
        self.read(file, MOST_BYTES).map(|file| file.bytes)
    }

    /// The archive of a plugin; `None` if it has no skill.
    pub(super) fn plugin(
        &self,
        offered: &OfferedPrompts<'_>,
        plugin: &HubPlugin<'_>,
    ) -> Result<Option<HubArchive>, HubRefusal> {
        let mut drafts = Vec::new();
        let mut size = 0;
        for (name, found) in &plugin.prompts {
            let Some(draft) = self.draft(offered, name, *found) else {
                continue;
            };
            size += draft.size();
            if size > MOST_BYTES {
                let name = &plugin.name;
                tracing::debug!("`{name}` is no plugin of the hub: it has more than 32 MiB");
                return Ok(None);
            }
            drafts.push(draft);
        }
        if drafts.is_empty() {
            return Ok(None);
        }
        let (name, description) = (&*plugin.name, &*plugin.description);
        let parts = [b"plugin", name.as_bytes(), description.as_bytes()].into_iter();
        let key = digest_of_parts(parts.chain(drafts.iter().map(|draft| draft.key.as_slice())));
        let files = || {
            let skills = drafts.iter().map(|draft| self.files(draft));
            let skills: Option<Vec<PublishedSkill>> = skills.collect();
            Some(plugin_files(name, description, skills?))
        };
        match self.archive_of(key, files) {
            Ok(archive) => Ok(Some(archive)),
            Err(HubRefusal::Missing) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// An archive that is kept, or a new one of these files.
    fn archive_of(
        &self,
        key: ArchiveKey,
        files: impl FnOnce() -> Option<Vec<UnpackedFile>>,
    ) -> Result<HubArchive, HubRefusal> {
        if let Some(archive) = self.archives.archive(&key) {
            return Ok(archive);
        }
        if !self.may_build {
            return Err(HubRefusal::NotMade);
        }
        let files = files().ok_or(HubRefusal::Missing)?;
        match write_zip(&files) {
            Ok(bytes) => Ok(self.archives.keep(key, bytes)),
            Err(error) => {
                tracing::debug!("an archive is not in the hub: {error}");
                Err(HubRefusal::Missing)
            }
        }
    }

    /// All files of a skill.
    fn files(&self, draft: &SkillDraft) -> Option<PublishedSkill> {
        let main = PublishedSkill::plain_file("SKILL.md", draft.main.clone());
        let mut left = MOST_BYTES.checked_sub(draft.main.len() as u64)?;
        let mut files = vec![main];
        for file in &draft.bundled {
            let file = self.read(file, left)?;
            left = left.checked_sub(file.bytes.len() as u64)?;
            files.push(file);
        }
        Some(PublishedSkill {
            name: draft.name.clone(),
            files,
        })
    }

    fn read(&self, file: &BundledFile, most: u64) -> Option<UnpackedFile> {
        let most = usize::try_from(most).ok()?;
        let blob = self.files.bytes(&file.library, &file.path, most);
        let blob = match blob {
            Ok(blob) => blob,
            Err(error) => {
                let path = file.library.shown_path_of(&file.path);
                tracing::debug!("{path} is not in the hub: it {error}");
                return None;
            }
        };
        Some(UnpackedFile {
            path: file.to.clone(),
            mode: if blob.is_executable {
                FileMode::Executable
            } else {
                FileMode::Plain
            },
            bytes: blob.bytes,
        })
    }
}

/// The name of a library as one of a plugin: lower-case letters, digits and single hyphens.
pub(super) fn plugin_name(library: &str) -> String {
    let name = file_slug(library);
    let parts: Vec<&str> = name
        .split(['_', '-'])
        .filter(|part| !part.is_empty())
        .collect();
    match &*parts {
        [] => "library".to_owned(),
        parts => parts.join("-"),
    }
}

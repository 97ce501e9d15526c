//! `twig export`: prompts as files that another client reads.

mod pick;
mod report;
mod target;

use std::process::ExitCode;

use twig_clients::export::{FileNames, plan};
use twig_core::render::World;
use twig_sources::{ExportMode, export_prompts};

use self::pick::Picked;
use self::report::Report;
use self::target::Target;
use super::Opened;
use super::list::nothing;
use crate::cli;
use crate::command_error::CommandError;
use crate::ui::Ui;
use crate::worker::Worker;

pub(super) fn run(options: &cli::Export, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = Opened::new(&options.from.sources())?;
    let catalog = opened.live.snapshot();
    let target = Target::find(options, &opened.places)?;
    let picked = Picked::of(&catalog, &options.names)?;
    if catalog.is_empty() {
        ui.say(nothing(&opened));
    }
    let world = World {
        catalog: &catalog,
        bodies: &opened.live,
        templates: &opened.templates,
    };
    let names = FileNames::new(world, options.to);
    let mut worker = Worker::new();
    let prompts = picked.prompts.iter().copied();
    let plan = plan(world, options.to, &names, prompts, &mut |job| {
        worker.run(job)
    });
    let mode = ExportMode {
        is_dry: options.check || options.dry_run,
        force: options.force,
        prune: options.prune,
    };
    if !mode.is_dry {
        target.make_base()?;
    }
    let is_meant = |name: &str| picked.is_meant(name);
    let files = export_prompts(target.get(options.to), &plan, &is_meant, &opened.live, mode);
    let files = files.map_err(|error| target.trouble(&opened.places, &error))?;
    let report = Report {
        client: options.to,
        target: &target,
        mode,
        files: &files,
        left: &plan.left,
    };
    report.print(options, &opened.places, ui)?;
    if options.check && report.has_drifted() || files.iter().any(|file| file.is_failed) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

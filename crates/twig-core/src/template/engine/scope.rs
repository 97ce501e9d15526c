//! Which variables are unbound where they are used.
//!
//! Blocks open and end as they do in a render. If values decide whether a name is bound, as with a
//! `set` in an `if`, it counts as bound.

use std::collections::{HashMap, HashSet};

use crate::template::scan::names::{BlockScope, By, NameEvent, Use};

/// The variables that are unbound where they are used.
pub(super) fn free<'e, 's>(events: &'e [NameEvent<'s>]) -> impl Iterator<Item = &'e Use<'s>> {
    // A variable in a macro may be set after the macro.
    let late: HashSet<&str> = events
        .iter()
        .filter_map(|event| match event {
            NameEvent::Bind(name, By::Statement) => Some(*name),
            _ => None,
        })
        .collect();
    let mut scopes = Scopes::default();
    events.iter().filter_map(move |event| {
        match event {
            NameEvent::Use(found) => {
                let is_bound = scopes.bound.contains_key(found.name)
                    || (scopes.deferred > 0 && late.contains(found.name));
                return (!is_bound).then_some(found);
            }
            NameEvent::Bind(name, _) => scopes.bind(name),
            NameEvent::Open(block) => scopes.open(*block),
            NameEvent::Else => scopes.otherwise(),
            NameEvent::Close => scopes.close(),
            NameEvent::Filter(..) | NameEvent::Test(..) => {}
        }
        None
    })
}

/// The blocks around a place, and what they bind.
#[derive(Default)]
struct Scopes<'s> {
    /// Blocks that are open, with the names that end with each.
    open: Vec<(BlockScope, Vec<&'s str>)>,
    /// How many open blocks bind a name; a name bound outside all blocks stays bound.
    bound: HashMap<&'s str, usize>,
    deferred: usize,
}

impl<'s> Scopes<'s> {
    fn bind(&mut self, name: &'s str) {
        *self.bound.entry(name).or_default() += 1;
        let mut around = self.open.iter_mut().rev();
        if let Some((_, names)) = around.find(|(block, _)| *block != BlockScope::Transparent) {
            names.push(name);
        }
    }

    fn open(&mut self, block: BlockScope) {
        self.deferred += usize::from(block == BlockScope::Deferred);
        self.open.push((block, Vec::new()));
    }

    fn close(&mut self) {
        if let Some((block, names)) = self.open.pop() {
            self.deferred -= usize::from(block == BlockScope::Deferred);
            self.unbind(names);
        }
    }

    /// `else` of a loop runs without the loop's bindings; its own bindings stay in effect after it.
    fn otherwise(&mut self) {
        if let Some((block @ BlockScope::Loop, names)) = self.open.last_mut() {
            *block = BlockScope::Transparent;
            let names = std::mem::take(names);
            self.unbind(names);
        }
    }

    fn unbind(&mut self, names: Vec<&'s str>) {
        for name in names {
            if let Some(count) = self.bound.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.bound.remove(name);
                }
            }
        }
    }
}

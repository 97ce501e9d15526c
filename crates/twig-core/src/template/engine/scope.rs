//! Which variables nothing has bound where they are used.
//!
//! Blocks open and end as they do in a render. Where it depends on values whether a name is bound,
//! as with a `set` in an `if`, it counts as bound.

use std::collections::{HashMap, HashSet};

use crate::template::scan::names::{Block, By, Event, Use};

/// The variables that nothing in their template has bound where they are used.
pub(super) fn free<'e, 's>(events: &'e [Event<'s>]) -> impl Iterator<Item = &'e Use<'s>> {
    // What a macro uses may be set behind it.
    let late: HashSet<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Bind(name, By::Statement) => Some(*name),
            _ => None,
        })
        .collect();
    let mut scopes = Scopes::default();
    events.iter().filter_map(move |event| {
        match event {
            Event::Use(found) => {
                let is_bound = scopes.bound.contains_key(found.name)
                    || (scopes.deferred > 0 && late.contains(found.name));
                return (!is_bound).then_some(found);
            }
            Event::Bind(name, _) => scopes.bind(name),
            Event::Open(block) => scopes.open(*block),
            Event::Else => scopes.otherwise(),
            Event::Close => scopes.close(),
            Event::Filter(..) | Event::Test(..) => {}
        }
        None
    })
}

/// The blocks around a place, and what they bind.
#[derive(Default)]
struct Scopes<'s> {
    /// Blocks that are open, with the names that end with each.
    open: Vec<(Block, Vec<&'s str>)>,
    /// How many open blocks bind a name; what is bound outside all blocks stays.
    bound: HashMap<&'s str, usize>,
    deferred: usize,
}

impl<'s> Scopes<'s> {
    fn bind(&mut self, name: &'s str) {
        *self.bound.entry(name).or_default() += 1;
        let mut around = self.open.iter_mut().rev();
        if let Some((_, names)) = around.find(|(block, _)| *block != Block::Transparent) {
            names.push(name);
        }
    }

    fn open(&mut self, block: Block) {
        self.deferred += usize::from(block == Block::Deferred);
        self.open.push((block, Vec::new()));
    }

    fn close(&mut self) {
        if let Some((block, names)) = self.open.pop() {
            self.deferred -= usize::from(block == Block::Deferred);
            self.unbind(names);
        }
    }

    /// `else` of a loop runs where there was nothing to bind; what it binds itself holds after it.
    fn otherwise(&mut self) {
        if let Some((block @ Block::Loop, names)) = self.open.last_mut() {
            *block = Block::Transparent;
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

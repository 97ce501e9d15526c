//! A random tree, changed at random, against a model of what has to be listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, SystemTime};

use twig_testkit::figure;

use crate::support::{Tree, manifest, names};

/// How often the tree is changed; what is announced is compared after each round.
const ROUNDS: usize = 60;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// What is on disk: for each library its manifest's prompts and its bodies.
#[derive(Default)]
struct Model {
    libraries: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>,
}

impl Model {
    fn expected(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (library, (declared, bodies)) in &self.libraries {
            let served = declared.intersection(bodies);
            names.extend(served.map(|prompt| format!("{library}:{prompt}")));
        }
        names.sort();
        names
    }

    fn change(&mut self, tree: &Tree, dice: &mut Dice) {
        let name = format!("lib{}", dice.roll(5));
        let folder = format!("data/{name}");
        let prompt = format!("p{}", dice.roll(6));
        let body = tree.path(&format!("{folder}/prompts/{prompt}.md"));
        let Some((declared, bodies)) = self.libraries.get_mut(&name) else {
            tree.write(&format!("{folder}/twig.toml"), "");
            self.libraries.insert(name, Default::default());
            return;
        };
        match dice.roll(10) {
            0 => {
                fs::remove_dir_all(tree.path(&folder)).unwrap();
                self.libraries.remove(&name);
            }
            1 => {
                let to = format!("lib{}", dice.roll(5));
                if !self.libraries.contains_key(&to) {
                    fs::rename(tree.path(&folder), tree.path(&format!("data/{to}"))).unwrap();
                    let library = self.libraries.remove(&name).unwrap();
                    self.libraries.insert(to, library);
                }
            }
            2..=4 => {
                if !declared.remove(&prompt) {
                    declared.insert(prompt);
                }
                let prompts: Vec<&str> = declared.iter().map(String::as_str).collect();
                tree.write(&format!("{folder}/next.tmp"), manifest(&prompts));
                let next = tree.path(&format!("{folder}/next.tmp"));
                fs::rename(next, tree.path(&format!("{folder}/twig.toml"))).unwrap();
            }
            _ => {
                if bodies.remove(&prompt) {
                    fs::remove_file(body).unwrap();
                } else {
                    tree.write(&format!("{folder}/prompts/{prompt}.md"), "text");
                    bodies.insert(prompt);
                }
            }
        }
    }
}

#[test]
fn the_catalog_is_what_is_on_disk() {
    let seed: u64 = match std::env::var("TWIG_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .subsec_nanos()
            .into(),
    };
    let mut dice = Dice(seed | 1);
    let tree = Tree::new();
    let following = tree.follow();
    let mut model = Model::default();
    for _ in 0..ROUNDS {
        for _ in 0..=dice.roll(30) {
            model.change(&tree, &mut dice);
        }
        let expected = model.expected();
        let took = following.until(&format!("seed {seed}, {expected:?}"), |live| {
            names(live) == expected
        });
        let what = format!("announcement of changes, seed {seed}");
        figure(&what, took, Duration::from_secs(2));
    }
}

//! Decides which rows of a repository change with its trees.

use std::collections::{HashMap, HashSet};

use super::assign::{Wanted, assign};
use super::types::{Move, Plan, TreeContents, TreeFile, TreeState};
use crate::error::Result;
use crate::ingest::session::Session;
use crate::trees::{Tree, Trees};

impl Session {
    /// Plans the trees of a repository for the next publishing: `trees` with their sets. Of each file of `state`, to
    /// which files may have been added, `of` has a number of one of `members`, or `None` if no tree besides the main one
    /// has it. Members are bitmaps of equal meaning as [`TreeSet::members`](crate::TreeSet::members), all different and
    /// none empty. `format` is the fingerprint of rows that the main tree lacks.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn plan_trees(
        &mut self,
        state: TreeState,
        trees: Vec<Tree>,
        members: Vec<Vec<u8>>,
        of: &[Option<u32>],
        format: i64,
    ) -> Result<()> {
        let TreeState { repo, files, sets } = state;
        let known = |was: Option<Trees>| {
            was.and_then(Trees::set).filter(|set| sets.contains_key(set)).unwrap_or(0)
        };
        let rows = files.iter().zip(of);
        let rows = rows.map(|(file, of)| Wanted { was: known(file.was), members: *of });
        let mut numbers = assign(rows, members.len());
        let missing = numbers.iter_mut().filter(|number| **number == 0);
        let mut missing: Vec<&mut i32> = missing.collect();
        let new: Vec<i32> = sqlx::query_scalar(
            "select nextval('tree_set_ids')::integer from generate_series(1, $1)",
        )
        .bind(missing.len() as i32)
        .fetch_all(&mut self.conn)
        .await?;
        for (number, new) in missing.iter_mut().zip(new) {
            **number = new;
        }
        let mut plan = Plan {
            repo,
            trees,
            sets: Vec::new(),
            ended: Vec::new(),
            moves: Vec::new(),
            loaded: (0, Vec::new()),
            others: Vec::new(),
            left_out: (0, Vec::new()),
            others_left_out: Vec::new(),
            format,
        };
        let used: HashSet<i32> = numbers.iter().copied().collect();
        plan.ended.extend(sets.keys().filter(|set| !used.contains(set)));
        for (number, members) in numbers.iter().zip(members) {
            match sets.get(number) {
                Some(before) if before.members == members => continue,
                Some(_) => plan.ended.push(*number),
                None => {}
            }
            plan.sets.push((*number, members));
        }
        let trees_of = |file: &TreeFile, of: Option<u32>| match of {
            Some(of) if file.in_main => Some(numbers[of as usize]),
            Some(of) => Some(-numbers[of as usize]),
            None => file.in_main.then_some(0),
        };
        plan.loaded.0 = most_frequent(files.iter().zip(of).filter_map(|(file, of)| {
            let is_loaded = file.is_new && file.in_main && file.is_text();
            is_loaded.then(|| trees_of(file, *of)).flatten()
        }));
        plan.left_out.0 = most_frequent(files.iter().zip(of).filter_map(|(file, of)| {
            (file.in_main && !file.is_text()).then(|| trees_of(file, *of)).flatten()
        }));
        for (file, of) in files.into_iter().zip(of) {
            let trees = trees_of(&file, *of);
            plan.add(file, trees);
        }
        self.trees.push(plan);
        Ok(())
    }
}

impl TreeFile {
    fn is_text(&self) -> bool {
        matches!(self.contents, TreeContents::Text { .. })
    }
}

impl Plan {
    /// Adds what becomes of a row.
    fn add(&mut self, file: TreeFile, trees: Option<i32>) {
        let TreeContents::Text { shard, blob, .. } = file.contents else {
            match trees {
                Some(trees) if file.in_main && trees != self.left_out.0 => {
                    self.left_out.1.push((file, trees));
                }
                Some(trees) if !file.in_main => self.others_left_out.push((file, trees)),
                // What is not written again ends.
                _ => {}
            }
            return;
        };
        let was = file.was.map(|trees| trees.0);
        let is_loaded = file.is_new && file.in_main;
        // The usual way ends the rows of the main tree that do not stay.
        let ends_itself = was.is_some_and(|was| was >= 0) && (!file.in_main || is_loaded);
        let stays = !file.is_new && was.is_some() && was == trees;
        if let Some(was) = was.filter(|_| !stays) {
            let trees = trees.filter(|_| !file.is_new);
            if !(ends_itself && trees.is_none()) {
                let path = file.path.clone();
                self.moves.push(Move { shard, blob, path, was, trees });
            }
        }
        match trees {
            Some(trees) if is_loaded && trees != self.loaded.0 => {
                self.loaded.1.push((file.path, trees));
            }
            Some(trees) if !file.in_main && file.is_new => self.others.push((file, trees)),
            _ => {}
        }
    }
}

/// Returns the number that occurs most often; 0 if there is none.
fn most_frequent(numbers: impl Iterator<Item = i32>) -> i32 {
    let mut counts: HashMap<i32, usize> = HashMap::new();
    numbers.for_each(|number| *counts.entry(number).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(number, count)| (*count, *number))
        .map_or(0, |(number, _)| number)
}

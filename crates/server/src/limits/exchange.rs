//! What a server gives back of a client's limits, and what it gets.

use std::sync::Mutex;
use std::time::Instant;

use statistics::Refusal;
use store::{AskedAllowance, TakenAllowance, WantedAllowance};

use super::budget::{Budget, wait_for_one};
use super::client::{Client, lock};
use super::part::{Needs, Rejection};

/// What all servers together take of a client's minute in advance: one part in this many.
const PARTS: f64 = 20.0;

/// Seconds for which too many concurrent searches are refused without asking again.
const FREED: f64 = 0.25;

impl Client {
    /// Gives back what this server has, and says what it wants: what `searches` requests need, or nothing for none.
    pub(super) fn ask(&self, ends: bool, wants: bool, servers: usize) -> AskedAllowance {
        let now = Instant::now();
        let of = |budget: &Option<Mutex<Budget>>| {
            budget.as_ref().map_or_else(WantedAllowance::default, |budget| {
                let mut budget = lock(budget);
                let per_minute = budget.per_minute();
                let wanted = (per_minute / PARTS / servers.max(1) as f64).max(1.0);
                WantedAllowance {
                    per_minute: Some(per_minute),
                    back: budget.give_back(now),
                    wanted: if wants { wanted } else { 0.0 },
                }
            })
        };
        let running = self.running.as_ref().map_or((None, 0, 0), |running| {
            let (most, now, waiting) = running.demand();
            (Some(most), now, now + if wants { waiting } else { 0 })
        });
        AskedAllowance { ends, running, searches: of(&self.searches), bytes: of(&self.bytes) }
    }

    /// Takes what it got. `server` is the number of this server.
    pub(super) fn receive(&self, taken: &TakenAllowance, server: i32) {
        let now = Instant::now();
        let all = taken.ended;
        for (budget, got) in
            [(&self.searches, taken.searches_taken), (&self.bytes, taken.bytes_taken)]
        {
            if let Some(budget) = budget {
                lock(budget).receive(got.unwrap_or_default(), all, now);
            }
        }
        if let Some(running) = &self.running {
            let may = taken.running_taken.map(|may| may.max(0).unsigned_abs());
            running.allow(may.filter(|_| !all));
        }
        if let Some(part) = &self.part {
            part.note_server((!all).then_some(server));
        }
    }

    /// Takes back what it gave, since nobody answered. A request is admitted all the same: whoever has no limits is served,
    /// and without the database, hardly anything is.
    pub(super) fn go_without(&self, asked: &AskedAllowance, server: i32, admits: bool) {
        for (budget, given) in [(&self.searches, asked.searches), (&self.bytes, asked.bytes)] {
            if let Some(budget) = budget {
                let mut budget = lock(budget);
                budget.left += given.back.max(0.0);
                if admits && !budget.has(1.0) {
                    budget.left = 1.0;
                }
            }
        }
        if let Some(running) = self.running.as_ref().filter(|_| admits) {
            running.allow_one();
        }
        if let Some(part) = &self.part {
            part.note_server(Some(server));
        }
    }

    /// Returns why a request cannot be admitted after all, and notes it.
    pub(super) fn refuse(&self, taken: &TakenAllowance, needs: Needs) -> Option<Rejection> {
        let part = self.part.as_ref()?;
        let lacks = |budget: &Option<Mutex<Budget>>, left: Option<f64>| {
            let budget = lock(budget.as_ref()?);
            let wait = wait_for_one(budget.per_minute(), left? + budget.left);
            (!budget.has(1.0)).then_some(wait)
        };
        let has_room = self.running.as_ref().is_none_or(|running| running.has_room());
        if needs == Needs::Slot && !has_room {
            return Some(part.refuse(Refusal::AtOnce, FREED));
        }
        if let Some(wait) = lacks(&self.bytes, taken.bytes_left) {
            return Some(part.refuse(Refusal::Bytes, wait));
        }
        let wait = lacks(&self.searches, taken.searches_left).filter(|_| needs != Needs::Bytes)?;
        Some(part.refuse(Refusal::PerMinute, wait))
    }

    /// Returns whether this server has something that it does not use, or owes something.
    pub(super) fn has_idle(&self) -> bool {
        let is_idle =
            |budget: &Option<Mutex<Budget>>| budget.as_ref().is_some_and(|of| lock(of).is_idle());
        is_idle(&self.searches)
            || is_idle(&self.bytes)
            || self.running.as_ref().is_some_and(|running| running.has_idle())
    }

    /// Returns whether this server has given the client more than it had.
    pub(super) fn owes(&self) -> bool {
        self.bytes.as_ref().is_some_and(|budget| {
            let budget = lock(budget);
            budget.is_idle() && budget.left < 0.0
        })
    }
}

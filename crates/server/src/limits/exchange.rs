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
    /// Gives back what this server has, and says what it wants, one of so many `servers`: its part if it `wants` any, else
    /// nothing. With `ends`, it wants all if there is no other server.
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

    /// Takes back what it gave, since nobody answered. With `admits`, a request is admitted all the same: whoever has no
    /// limits is served, and without the database, hardly anything is. The client owes what it lacks for it.
    pub(super) fn go_without(&self, asked: &AskedAllowance, server: i32, admits: bool) {
        for (budget, given) in [(&self.searches, asked.searches), (&self.bytes, asked.bytes)] {
            if let Some(budget) = budget {
                let mut budget = lock(budget);
                budget.left += given.back;
                if admits {
                    budget.lend(1.0);
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
        let owes =
            |budget: &Option<Mutex<Budget>>| budget.as_ref().is_some_and(|of| lock(of).owes());
        owes(&self.searches) || owes(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::quota::Quota;
    use super::*;

    #[test]
    fn what_is_admitted_without_an_answer_is_owed() {
        let quota = Quota { per_minute: Some(60), mib_per_minute: Some(1), at_once: None };
        let client = Client::everywhere("token:1".to_owned(), quota, None);
        let most = f64::from(1 << 20);
        let got = |searches, bytes| TakenAllowance {
            searches_taken: Some(searches),
            bytes_taken: Some(bytes),
            ..TakenAllowance::default()
        };
        let pay = |searches: f64, bytes: f64| {
            for (budget, used) in [(&client.searches, searches), (&client.bytes, bytes)] {
                lock(budget.as_ref().unwrap()).left -= used;
            }
        };
        let backs = |asked: AskedAllowance| (asked.searches.back, asked.bytes.back);
        // It has something to begin with, and overdraws its bytes.
        client.ask(false, true, 2);
        client.receive(&got(1.0, 1000.0), 1);
        pay(1.0, 3000.0);
        assert!(client.owes());
        for n in 0..3 {
            // Each time, nobody answers, and a request of 100 bytes is admitted.
            let asked = client.ask(false, true, 2);
            assert_eq!(backs(asked), (-f64::from(n), -2000.0 - 100.0 * f64::from(n)));
            client.go_without(&asked, 1, true);
            assert!(client.has_enough(Needs::Search) && client.owes());
            pay(1.0, 100.0);
        }
        // A request that needs nothing lends nothing.
        let asked = client.ask(false, false, 2);
        client.go_without(&asked, 1, false);
        assert!(client.owes() && !client.has_enough(Needs::Search));
        // The first answer hears of all.
        let asked = client.ask(false, true, 2);
        assert_eq!(backs(asked), (-3.0, -2300.0));
        client.receive(&got(3.0, most / PARTS), 1);
        assert!(client.has_enough(Needs::Search) && !client.owes());
        assert_eq!(backs(client.ask(false, true, 2)), (3.0, most / PARTS));
    }
}

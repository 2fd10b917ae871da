//! The checkouts, as many of whose folders are watched as fit. The largest others are polled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{CheckoutStatus, Common, Options, Status};
use crate::hub::{Hub, Shared};
use crate::poll::Poller;
use crate::system;
use crate::unit::{How, Unit};

/// The checkouts by their numbers, and what watches or polls them.
pub(crate) struct Checkouts {
    pub(crate) units: BTreeMap<usize, Unit>,
    pub(crate) hub: Hub,
    pub(crate) poller: Poller,
    /// Number of folders that may be watched, as the options say.
    limit: usize,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Checkouts {
    pub(crate) fn new(common: &Common, options: &Options) -> Self {
        let (shared, stop) = (Arc::clone(&common.shared), Arc::clone(&common.stop));
        let limit = limit(options);
        let hub = Hub::new(&shared, limit);
        let poller = Poller::new(&shared, &stop, options.poll_every);
        Self { units: BTreeMap::new(), hub, poller, limit, shared, stop }
    }

    /// Watches as many folders as the options say now.
    pub(crate) fn set_limit(&mut self, options: &Options) {
        let limit = limit(options);
        if limit == self.limit {
            return;
        }
        self.limit = limit;
        self.hub.set_limit(limit);
        while self.hub.is_over() {
            let watched = self.units.values().filter(|unit| unit.how == How::Watched);
            let largest = watched.max_by_key(|unit| unit.folders).filter(|unit| unit.folders > 0);
            let Some(largest) = largest else { break };
            let (largest, needs) = (largest.number, largest.folders);
            self.units.get_mut(&largest).expect("it is one").needs = needs;
            self.poll_instead(largest, "its folders do not fit");
        }
        for unit in self.units.values_mut().filter(|unit| unit.how != How::Watched) {
            if unit.needs == 0 && unit.place_git(&mut self.hub) {
                unit.needs = unit.count(&self.stop);
            }
        }
        self.watch_more();
    }

    /// Watches the folders of a checkout that have files, if they fit when the largest others are polled instead.
    pub(crate) fn watch_files(&mut self, number: usize) {
        while !self.stop.load(Ordering::Relaxed) {
            let Some(unit) = self.units.get_mut(&number) else { return };
            if unit.place_work(&mut self.hub, &self.stop) {
                unit.how = How::Watched;
                if unit.silent.is_some() {
                    self.poller.add(number);
                } else {
                    self.poller.remove(number);
                }
                return;
            }
            let needs = unit.count(&self.stop);
            unit.needs = needs;
            let others = self.units.values().filter(|other| other.number != number);
            let largest = others.max_by_key(|other| other.folders);
            match largest.filter(|largest| largest.folders > needs) {
                Some(largest) => {
                    let (largest, needs) = (largest.number, largest.folders);
                    self.units.get_mut(&largest).expect("it is one").needs = needs;
                    self.poll_instead(largest, "its folders do not fit");
                }
                None => return self.poll_instead(number, "its folders do not fit"),
            }
        }
    }

    /// Watches the folders of those that are polled and fit now.
    pub(crate) fn watch_more(&mut self) {
        loop {
            let room = self.hub.room();
            let fits = |unit: &&Unit| unit.how != How::Watched && (1..=room).contains(&unit.needs);
            let Some(unit) = self.units.values().filter(fits).min_by_key(|unit| unit.needs) else {
                return;
            };
            let number = unit.number;
            // Not again, if it has grown.
            self.units.get_mut(&number).expect("it is one").needs = 0;
            self.watch_files(number);
        }
    }

    /// Polls a checkout whose folders are not watched.
    pub(crate) fn poll_instead(&mut self, number: usize, why: &str) {
        let Some(unit) = self.units.get_mut(&number) else { return };
        let limit = self.hub.limit();
        let of = match (limit, self.hub.is_refused()) {
            (0, _) => "nothing can be watched here".to_owned(),
            (_, true) => {
                format!("{why} beside those of other programs, as the system watches no more")
            }
            (_, false) => {
                format!("{why} into the {limit} that may be watched")
            }
        };
        unit.leave_work(&mut self.hub, of.clone());
        self.poller.add(number);
        tracing::warn!(
            "{} is polled: {of}; to watch more, raise fs.inotify.max_user_watches with sysctl",
            unit.spec.folder.display()
        );
    }

    /// Returns what is watched.
    pub(crate) fn status(&self) -> Status {
        let checkouts = self.units.values().map(|unit| {
            let every = self.poller.every(unit.number);
            let polled = unit.polled_why().map(|why| match every {
                Some(every) => format!("every {} s: {why}", every.as_secs().max(1)),
                None => why,
            });
            let (folder, told_until) = (unit.spec.folder.clone(), unit.told_until);
            CheckoutStatus { folder, polled, told_until }
        });
        Status {
            watches: self.shared.lock().folders.len(),
            limit: self.hub.limit(),
            checkouts: checkouts.collect(),
        }
    }
}

/// Returns the number of folders that may be watched.
fn limit(options: &Options) -> usize {
    options.watches.or_else(|| Some(system::watches()? / 2)).unwrap_or(usize::MAX)
}

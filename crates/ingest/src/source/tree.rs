//! Goes through folders on several threads.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex};

/// The folders that nobody has gone through.
struct Rest<T> {
    folders: Vec<T>,
    /// Number of threads that may find more.
    busy: usize,
    has_ended: bool,
}

/// Passes `first`, and each folder that `visit` then adds, to `visit`, on some threads at once. Ends early if `visit`
/// breaks.
pub(super) fn each<T: Send>(
    first: T,
    threads: usize,
    visit: &(dyn Fn(T, &mut Vec<T>) -> ControlFlow<()> + Sync),
) {
    let rest = Mutex::new(Rest { folders: vec![first], busy: 0, has_ended: false });
    let more = Condvar::new();
    let work = || {
        let mut found = Vec::new();
        loop {
            let mut at = rest.lock().expect("no panics hold it");
            let folder = loop {
                if at.has_ended {
                    return;
                }
                if let Some(folder) = at.folders.pop() {
                    break folder;
                }
                at = more.wait(at).expect("no panics hold it");
            };
            at.busy += 1;
            drop(at);
            let said = visit(folder, &mut found);
            let mut at = rest.lock().expect("no panics hold it");
            at.busy -= 1;
            at.folders.append(&mut found);
            if said.is_break() || (at.busy == 0 && at.folders.is_empty()) {
                at.has_ended = true;
            }
            drop(at);
            more.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_folder_is_visited_once_and_a_break_ends_it() {
        for threads in [1, 2, 8] {
            let seen = AtomicUsize::new(0);
            each(1_usize, threads, &|at, more| {
                seen.fetch_add(at, Ordering::Relaxed);
                more.extend([2 * at, 2 * at + 1].into_iter().filter(|next| *next < 5000));
                ControlFlow::Continue(())
            });
            assert_eq!(seen.into_inner(), 5000 * 4999 / 2);
            let seen = AtomicUsize::new(0);
            each(0, threads, &|at, more| {
                seen.fetch_add(1, Ordering::Relaxed);
                more.extend([at + 1, at + 1]);
                if at < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            assert!(seen.into_inner() >= 11);
        }
    }
}

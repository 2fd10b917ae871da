//! Threads that compute: one for each processor, and kept there.
//!
//! Two threads halve work of a few milliseconds only if both begin at once. In a virtual machine Linux may take a
//! processor that sleeps for one that is not there, and leaves a thread that is woken beside the one that woke it
//! until it balances its load, milliseconds later (seen with `perf sched` on Linux 6.18; `available_idle_cpu` in the
//! kernel). A thread that may run on one processor only is begun there.

use std::sync::LazyLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Those that match texts. They are not rayon's own: what those do may take long.
pub(crate) static MATCHING: LazyLock<ThreadPool> = LazyLock::new(|| {
    let threads = kept(ThreadPoolBuilder::new().thread_name(|n| format!("matching-{n}")));
    threads.build().expect("a few threads can be started")
});

/// Starts all threads that compute, rayon's own, too. For the beginning of a program that answers again and again: rayon's
/// are as they are once they have been used, and a thread that is kept on one processor must not start others.
pub fn keep() {
    LazyLock::force(&MATCHING);
    // Something has used them: it goes on without.
    let _ = kept(ThreadPoolBuilder::new()).build_global();
}

/// Each thread on a processor of its own, unless there are fewer threads than processors: then others have their share
/// in those, and it is not for us to choose.
fn kept(threads: ThreadPoolBuilder) -> ThreadPoolBuilder {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.num_threads(count);
    let processors = processors();
    if processors.len() == count {
        threads.start_handler(move |n| run_on(processors[n]))
    } else {
        threads
    }
}

/// The numbers of those on which this program may run.
#[cfg(target_os = "linux")]
fn processors() -> Vec<usize> {
    use nix::sched::{CpuSet, sched_getaffinity};
    let Ok(allowed) = sched_getaffinity(nix::unistd::Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|n| allowed.is_set(*n).unwrap_or(false)).collect()
}

/// From now on this thread runs on one processor only, if the system lets it.
#[cfg(target_os = "linux")]
fn run_on(processor: usize) {
    use nix::sched::{CpuSet, sched_setaffinity};
    let mut only = CpuSet::new();
    if only.set(processor).is_ok() {
        let _ = sched_setaffinity(nix::unistd::Pid::from_raw(0), &only);
    }
}

#[cfg(not(target_os = "linux"))]
fn processors() -> Vec<usize> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
fn run_on(_processor: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use nix::sched::{CpuSet, sched_getaffinity};
    use nix::unistd::Pid;

    use super::*;

    #[test]
    fn each_thread_has_a_processor_of_its_own() {
        let all = processors();
        let own = |_: rayon::BroadcastContext<'_>| {
            let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
            (0..CpuSet::count()).filter(|n| allowed.is_set(*n).unwrap()).collect::<Vec<_>>()
        };
        let mut of_threads = MATCHING.broadcast(own);
        of_threads.sort();
        if of_threads.len() == all.len() {
            assert_eq!(of_threads, all.iter().map(|n| vec![*n]).collect::<Vec<_>>());
        } else {
            assert!(of_threads.iter().all(|own| *own == all));
        }
    }
}

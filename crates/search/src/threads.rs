//! Computing threads: one for each processor, pinned to it.
//!
//! Two threads halve work of a few milliseconds only if both start at once. In a virtual machine the Linux scheduler
//! may take an idle virtual processor for one that the host has preempted (`available_idle_cpu` in the kernel). It then
//! leaves a woken thread on the processor of its waker until it balances the load, milliseconds later (seen with `perf
//! sched` on Linux 6.18). A thread that may run on only one processor starts there at once.

use std::sync::OnceLock;

use query::CompiledQuery;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::runtime::{Builder, Handle, Runtime};

/// Threads for slow searches, for each processor: while one matches a name, another can wake up to end its search.
const SLOW_PER_PROCESSOR: usize = 2;

static MATCHING: OnceLock<ThreadPool> = OnceLock::new();
static SLOW: OnceLock<Runtime> = OnceLock::new();

/// Returns the pool that matches texts. Separate from rayon's global pool, whose jobs may take long.
pub(crate) fn matching() -> &'static ThreadPool {
    MATCHING.get_or_init(|| {
        let threads = pinned(ThreadPoolBuilder::new().thread_name(|n| format!("matching-{n}")));
        threads.build().expect("a few threads can be started")
    })
}

/// Returns whether the pool that matches texts is running.
pub(crate) fn are_started() -> bool {
    MATCHING.get().is_some()
}

/// Returns the runtime for the shards of a slow search, in a server. Matching a single name takes such a search
/// milliseconds. On shared threads it would delay other searches until its own timeout.
pub(crate) fn of_slow(query: &CompiledQuery) -> Option<&'static Handle> {
    if !query.is_slow() || !are_started() {
        return None;
    }
    let runtime = SLOW.get_or_init(|| {
        let threads =
            SLOW_PER_PROCESSOR * std::thread::available_parallelism().map_or(1, usize::from);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("slow").enable_all();
        builder.build().expect("a few threads can be started")
    });
    Some(runtime.handle())
}

/// Starts both pools. A server calls this when it starts: rayon's global pool can be configured only before its first
/// use, and a pinned thread must not start others, since they would inherit its processor.
pub fn start() {
    matching();
    // Fails if the global pool is in use already; then its threads stay unpinned.
    let _ = pinned(ThreadPoolBuilder::new()).build_global();
}

/// Pins each thread to a processor of its own. If the pool has fewer threads than there are processors (a CPU
/// quota), other programs share them, and the scheduler places the threads.
fn pinned(threads: ThreadPoolBuilder) -> ThreadPoolBuilder {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.num_threads(count);
    let processors = processors();
    if processors.len() == count {
        threads.start_handler(move |n| run_on(processors[n]))
    } else {
        threads
    }
}

/// Returns the numbers of the processors on which this program may run.
#[cfg(target_os = "linux")]
fn processors() -> Vec<usize> {
    use nix::sched::{CpuSet, sched_getaffinity};
    let Ok(allowed) = sched_getaffinity(nix::unistd::Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|n| allowed.is_set(*n).unwrap_or(false)).collect()
}

/// Pins this thread to one processor, if the system permits it.
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
        let mut of_threads = matching().broadcast(own);
        of_threads.sort();
        if of_threads.len() == all.len() {
            assert_eq!(of_threads, all.iter().map(|n| vec![*n]).collect::<Vec<_>>());
        } else {
            assert!(of_threads.iter().all(|own| *own == all));
        }
    }
}

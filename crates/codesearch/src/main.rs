//! The program, a thin wrapper around the library.

/// The allocator. A server takes less memory with jemalloc than with mimalloc 2 (a tenth, in a run without a record;
/// mimalloc 3 was not measured). But building jemalloc takes nearly two minutes, mimalloc seconds. So only distributed
/// builds have the feature `jemalloc`.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(not(feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    codesearch::main()
}

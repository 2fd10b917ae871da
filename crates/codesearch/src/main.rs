//! The program, a thin wrapper of the library.

/// The allocator. jemalloc returns more free memory to the system than mimalloc, which builds in seconds: the profile `dist` is
/// built with the one, everything else with the other (docs/performance.md compares them).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(not(feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    codesearch::main()
}

//! The program, a thin wrapper of the library.

/// The allocator. A server takes less memory with jemalloc than with mimalloc 2 (a tenth, in a run without a record; mimalloc 3
/// was not measured). But jemalloc takes most of two minutes to build, mimalloc seconds: so the feature `jemalloc` is for
/// what is distributed.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(not(feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    codesearch::main()
}

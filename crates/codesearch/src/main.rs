//! The program, a thin wrapper of the library.

/// The allocator. jemalloc returns free memory to the system, so a server that has loaded its index takes less than
/// with the system's allocator. With mimalloc 2 it took a tenth more than with jemalloc, and answers without a limit took
/// an eighth longer (two servers in turn, 62 queries; there is no record); jemalloc takes a minute to build.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    codesearch::main()
}

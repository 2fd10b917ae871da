//! The program: what it does is in the library.

/// Gives back what is free: a server that has read its index ahead takes less memory than with the
/// system's.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    codesearch::main()
}

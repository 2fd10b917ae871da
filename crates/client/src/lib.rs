//! The client of a codesearch server.
//!
//! A server runs the commands that read its index for clients: on its machine through a Unix socket in the index's folder,
//! elsewhere over HTTP. A client sends its command line and prints what comes back. So the output, the exit status and the
//! limits are those of the command itself. [`protocol`] is the format, [`Remote`] a server, [`run`] sends a command, and
//! [`mcp`] passes on the messages of an agent.
//!
//! This crate reads no index and calls nothing that only Linux has: `codesearch-client`, its program, also runs on machines
//! that cannot have an index.

mod command;
pub mod mcp;
mod protocol;
mod remote;
mod resume;

pub use command::{Outcome, read_file, run};
pub use protocol::{Decoder, Frame, Invocation, NeedsFile, PROTOCOL, VERSION, encode};
pub use remote::{Error, Remote, Result, TEMPORARY, socket_path, token_of};
pub use resume::{Resumed, Written};

/// The path of the endpoint that runs commands.
pub const COMMAND_PATH: &str = "/command";

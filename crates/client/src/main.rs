//! `codesearch-client`: the commands of codesearch that read an index, run by a server elsewhere. It needs no Postgres, and
//! runs on systems that codesearch itself does not support.

use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use client::mcp::{self, Engine};
use client::{Error, Invocation, Outcome, Remote, run, token_of};
use tokio::io::DuplexStream;

/// Exit status: an error.
const FAILED: u8 = 2;
/// Exit status after Ctrl-C, as a shell reports it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(async {
            tokio::select! {
                done = answer() => done,
                _ = tokio::signal::ctrl_c() => Ok(INTERRUPTED),
            }
        }),
        Err(error) => Err(Error::Invalid(format!("cannot start: {error}"))),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        eprintln!("codesearch-client: {error}");
        FAILED
    }))
}

async fn answer() -> Result<u8, Error> {
    let Some(url) = variable("CODESEARCH_SERVER") else {
        return Err(Error::Invalid(
            "set CODESEARCH_SERVER to the URL of a codesearch server; its token, if it requires one, goes into a file \
             that CODESEARCH_SERVER_TOKEN names"
                .to_owned(),
        ));
    };
    let token =
        variable("CODESEARCH_SERVER_TOKEN").map(|file| token_of(Path::new(&file))).transpose()?;
    let remote = Remote::at(&url, token.as_deref())?;
    let words: Result<Vec<String>, _> =
        std::env::args_os().map(std::ffi::OsString::into_string).collect();
    let mut args = words.map_err(|_| Error::Invalid("an argument is not UTF-8".to_owned()))?;
    "codesearch".clone_into(&mut args[0]);
    if args.get(1).is_some_and(|command| command == "mcp") {
        let done = mcp::serve(Only(remote), tokio::io::stdin(), tokio::io::stdout()).await;
        // A thread may still wait for standard input.
        return done.map(|()| 0).map_err(Error::Write);
    }
    let invocation = Invocation {
        folder: std::env::current_dir().ok().and_then(|folder| folder.to_str().map(str::to_owned)),
        stdout_is_terminal: stdout().is_terminal(),
        stderr_is_terminal: stderr().is_terminal(),
        no_color: variable("NO_COLOR").is_some() || variable("TERM").as_deref() == Some("dumb"),
        ..Invocation::new(args)
    };
    match run(&remote, invocation, &mut stdout().lock(), &mut stderr().lock()).await? {
        Outcome::Done(status) => Ok(status),
        Outcome::Closed => Ok(0),
        Outcome::Died(..) => Err(Error::Died(remote.name().to_owned())),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The only server: there is no engine here.
struct Only(Remote);

impl Engine for Only {
    fn server(&self) -> Option<Remote> {
        Some(self.0.clone())
    }

    async fn start(&self) -> Result<DuplexStream, String> {
        Err(format!("cannot reach the server at {}", self.0.name()))
    }
}

//! `cargo bench --bench agents -- --ours URL --tree DIR`: whether the first call of an agent's tool has the answer, and
//! how many bytes the agent reads until then; compared with ripgrep, on the fetched corpus.
//!
//! The tasks are those of `corpus/agent-tasks.tsv`: where a name is defined, who calls it, where a configuration key is
//! defined, where the text of an error comes from, in how many repositories something stands, what a worktree has
//! changed, and questions in words. The tools are called at `/mcp` of a running server, with default arguments. ripgrep
//! gets the expression that one types first, and prints sorted paths.
//!
//!     --ours URL        a running `codesearch serve`
//!     --tree DIR        the corpus
//!     --worktree DIR    what `corpus/worktree` has made; without it, tasks in a worktree are left out
//!     --details         also print what each task took
//!
//! A task is a *hit* if all that was sought is in the first answer; else the calls that the answer suggests follow. *Bytes
//! to the answer* are all bytes up to the end of the last of these lines; without them, all bytes of the answer. ripgrep's
//! bytes are all that it prints, without context: an agent's program may cut them, but then the line may be missing. An
//! answer is *cut silently* if its head says neither that it is complete nor what is left out.

#[path = "../shared/mod.rs"]
mod shared;

mod answers;
mod report;
mod tasks;

use std::path::PathBuf;

use answers::Answer;
use tasks::Task;

type Result<T> = std::io::Result<T>;

/// A task, and the answers of both.
struct Row {
    task: Task,
    ours: Answer,
    ripgrep: Answer,
}

struct Args {
    ours: String,
    tree: PathBuf,
    worktree: Option<PathBuf>,
    details: bool,
}

fn main() {
    shared::end("agents", bench());
}

fn bench() -> Result<()> {
    let args = args();
    let agent = shared::server::agent();
    let mut rows = Vec::new();
    for task in tasks::tasks(args.worktree.as_deref())? {
        let ours = answers::of_tool(&agent, &args.ours, &task)?;
        let ripgrep = answers::of_ripgrep(&args.tree, args.worktree.as_deref(), &task)?;
        let row = Row { task, ours, ripgrep };
        if args.details {
            println!("{}", report::detail(&row));
        }
        rows.push(row);
    }
    let text = report::report(&rows);
    print!("{text}");
    shared::record("agents.txt", &text)
}

/// Reads the command line; exits if it is wrong.
fn args() -> Args {
    let mut args =
        Args { ours: String::new(), tree: PathBuf::new(), worktree: None, details: false };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().unwrap_or_else(|| wrong(&format!("{arg} wants a value")));
        match arg.as_str() {
            "--ours" => args.ours = value(),
            "--tree" => args.tree = shared::path(&value()),
            "--worktree" => args.worktree = Some(shared::path(&value())),
            "--details" => args.details = true,
            // Passed by cargo.
            "--bench" => {}
            other => wrong(&format!("{other} is no option")),
        }
    }
    if args.ours.is_empty() || args.tree.as_os_str().is_empty() {
        wrong("name a server and the corpus: --ours http://127.0.0.1:8080 --tree corpus/repos");
    }
    args
}

fn wrong(why: &str) -> ! {
    eprintln!("agents: {why}");
    std::process::exit(2);
}

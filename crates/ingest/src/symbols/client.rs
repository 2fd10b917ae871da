//! The client of a worker: starts it, sends it texts, and replaces it when it has died or takes too long.

use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use symbols::{Reason, Taken};
use tokio::sync::{mpsc, oneshot};

use super::{wire, worker};

/// Maximum time for one text. A worker gives up earlier by itself; one that does not is killed.
const LIMIT: Duration = Duration::from_secs(2 * symbols::MAX_SECONDS);

/// Number of immediate deaths in a row after which a worker counts as broken.
const START: usize = 3;

/// A worker, and how to start it again.
#[derive(Debug)]
pub(crate) struct Client {
    program: PathBuf,
    running: Option<Running>,
}

/// Texts, each with its language.
type Texts = Vec<(String, String)>;

/// Texts to parse from index `from` on, and a channel for the answer: the symbols, the texts, and whether the worker
/// lives.
struct Job {
    texts: Texts,
    from: usize,
    answer: oneshot::Sender<(Vec<Taken>, Texts)>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    jobs: mpsc::UnboundedSender<Job>,
    /// Number of texts that the worker has answered.
    answered: Arc<AtomicUsize>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self { program, running: None }
    }

    /// Extracts the symbols of some texts. Gives up a text that kills a worker or takes it too long.
    ///
    /// # Errors
    /// No worker can be started.
    pub(crate) async fn take(&mut self, mut texts: Texts) -> io::Result<Vec<Taken>> {
        let mut all = Vec::with_capacity(texts.len());
        let mut starts = 0;
        while all.len() < texts.len() {
            let running = match &mut self.running {
                Some(running) => running,
                None => self.running.insert(start(&self.program)?),
            };
            let (answer, mut answered) = oneshot::channel();
            let before = running.answered.load(Ordering::Relaxed);
            let sent = std::mem::take(&mut texts);
            let from = all.len();
            let Ok(()) = running.jobs.send(Job { texts: sent, from, answer }) else {
                return Err(io::ErrorKind::BrokenPipe.into());
            };
            let mut seen = before;
            let mut too_slow = false;
            let (taken, back) = loop {
                if let Ok(answer) = tokio::time::timeout(LIMIT, &mut answered).await {
                    break answer.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
                }
                let now = running.answered.load(Ordering::Relaxed);
                if now == seen {
                    // This closes the worker's end of the pipe, and the answer comes.
                    let _ = running.child.kill();
                    too_slow = true;
                }
                seen = now;
            };
            texts = back;
            let none = taken.is_empty();
            all.extend(taken);
            if all.len() < texts.len() {
                let status = self.running.take().and_then(|mut running| running.child.wait().ok());
                tracing::debug!("a worker died: {status:?}");
                // A worker that dies at once each time cannot run at all.
                starts = if none { starts + 1 } else { 0 };
                let died_by_itself = status.is_some_and(|status| status.code().is_some());
                if died_by_itself && starts >= START {
                    return Err(io::Error::other("the process that parses ends at once"));
                }
                let given_up = Some(if too_slow { Reason::TooSlow } else { Reason::ParserFailed });
                all.push(Taken { symbols: Vec::new(), given_up });
            }
        }
        Ok(all)
    }
}

/// Starts a worker, and a thread that talks to it.
fn start(program: &Path) -> io::Result<Running> {
    let mut child = Command::new(program)
        .arg(worker::ARGUMENT)
        .env(worker::RESERVE.0, worker::RESERVE.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (jobs, mut queue) = mpsc::unbounded_channel::<Job>();
    let answered = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&answered);
    std::thread::Builder::new().name("symbols".to_owned()).spawn(move || {
        let mut input = BufWriter::with_capacity(1 << 16, input);
        let mut output = BufReader::with_capacity(1 << 16, output);
        while let Some(Job { texts, from, answer }) = queue.blocking_recv() {
            let mut all = Vec::with_capacity(texts.len() - from);
            for (language, text) in &texts[from..] {
                let asked = wire::ask(&mut input, language, text);
                let Ok(taken) = asked.and_then(|()| wire::answered(&mut output, text)) else {
                    break;
                };
                all.push(taken);
                count.fetch_add(1, Ordering::Relaxed);
            }
            let died = from + all.len() < texts.len();
            // The receiver may have been dropped.
            let _ = answer.send((all, texts));
            if died {
                return;
            }
        }
    })?;
    Ok(Running { child, jobs, answered })
}

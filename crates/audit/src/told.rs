//! What the code that answers a request tells of its answer.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use answer::FileMatch;
use store::MAX_AUDIT_REPOS;

use super::{MAX_PARAMETERS, MAX_QUERY, shortened};

/// Maximum number of repositories of an answer that are counted.
const MAX_COUNTED: usize = 50_000;

tokio::task_local! {
    static TOLD: Told;
}

/// Returns the cell of the request that the calling task answers. Outside of such a task, and if the audit is off, what
/// is told is dropped. A task that goes on by itself must take the cell with it ([`Told::scope`]).
pub fn told() -> Told {
    TOLD.try_with(Clone::clone).unwrap_or_default()
}

/// A cell that collects what is in an answer.
#[derive(Clone, Debug, Default)]
pub struct Told(Option<Arc<Mutex<Answer>>>);

/// What is in an answer, as far as it was told.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Number of files.
    pub files: usize,
    /// Number of lines, names or rows.
    pub results: usize,
    /// The query, if it is not a parameter of the address.
    pub query: Option<String>,
    /// The other parameters, if they are not in the address.
    pub parameters: Option<String>,
    /// The endpoint, if it is more than the address.
    pub endpoint: Option<String>,
    /// The interface, if it is not that of the address.
    pub interface: Option<&'static str>,
    /// Who asks, if only the answer decides it.
    pub who: Option<String>,
    /// The outcome and its reason, if the status of the answer does not tell.
    pub outcome: Option<(&'static str, &'static str)>,
    /// Whether the answer has ended, even if the client does not wait for the end of its body.
    pub has_ended: bool,
    repos: BTreeSet<String>,
    /// The repository that was told last.
    last: String,
}

impl Told {
    /// Makes a cell that keeps what it is told.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Runs some work whose [`told`] is this cell.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        TOLD.scope(self, work).await
    }

    /// Calls some work that does not wait, and whose [`told`] is this cell.
    pub fn scope_blocking<T>(self, work: impl FnOnce() -> T) -> T {
        TOLD.sync_scope(self, work)
    }

    fn with(&self, tell: impl FnOnce(&mut Answer)) {
        if let Some(answer) = &self.0 {
            tell(&mut answer.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Tells of files with their lines, and of their copies.
    pub fn files<'f>(&self, files: impl IntoIterator<Item = &'f FileMatch>) {
        self.with(|answer| {
            for file in files {
                answer.files += 1;
                answer.results += file.matches();
                answer.add(&file.repo);
                for copy in &file.copies {
                    answer.add(&copy.repo);
                }
            }
        });
    }

    /// Tells of a repository, or of a file of it.
    pub fn repo(&self, repo: &str) {
        self.with(|answer| answer.add(repo));
    }

    /// Tells of one file of a repository.
    pub fn file(&self, repo: &str) {
        self.with(|answer| {
            answer.files += 1;
            answer.add(repo);
        });
    }

    /// Tells of results, each of a repository.
    pub fn results<'r>(&self, repos: impl IntoIterator<Item = &'r str>) {
        self.with(|answer| {
            for repo in repos {
                answer.results += 1;
                answer.add(repo);
            }
        });
    }

    /// Tells how many results there are that belong to no single repository.
    pub fn count(&self, results: usize) {
        self.with(|answer| answer.results += results);
    }

    /// Tells the query, if it is not the parameter `q`.
    pub fn query(&self, query: &str) {
        self.with(|answer| answer.query = Some(shortened(query.to_owned(), MAX_QUERY)));
    }

    /// Tells the other parameters, if they are not in the address.
    pub fn parameters(&self, parameters: String) {
        self.with(|answer| answer.parameters = Some(shortened(parameters, MAX_PARAMETERS)));
    }

    /// Tells what was asked, in more detail than by the address; and by which interface, if another.
    pub fn endpoint(&self, endpoint: String, interface: Option<&'static str>) {
        self.with(|answer| {
            answer.endpoint = Some(shortened(endpoint, MAX_QUERY / 8));
            answer.interface = interface;
        });
    }

    /// Tells who asks: signing in knows it only after the request was admitted.
    pub fn who(&self, name: &str) {
        self.with(|answer| answer.who = Some(name.to_owned()));
    }

    /// Tells that the request was refused, with the code of the reason.
    pub fn refused(&self, reason: &'static str) {
        self.with(|answer| answer.outcome = Some(("refused", reason)));
    }

    /// Tells that the request failed, with the code of the reason: the answer of a tool has status 200 even then.
    pub fn failed(&self, reason: &'static str) {
        self.with(|answer| answer.outcome = Some(("failed", reason)));
    }

    /// Tells that the answer has ended, where the client knows its end from its contents.
    pub fn ended(&self) {
        self.with(|answer| answer.has_ended = true);
    }

    /// Takes what was told.
    pub fn take(&self) -> Answer {
        let mut taken = Answer::default();
        self.with(|answer| taken = std::mem::take(answer));
        taken
    }
}

impl Answer {
    /// Files come by repository, so most are of that of the one before.
    fn add(&mut self, repo: &str) {
        if self.last == repo || repo.is_empty() {
            return;
        }
        self.last.clear();
        self.last.push_str(repo);
        if self.repos.len() < MAX_COUNTED && !self.repos.contains(repo) {
            self.repos.insert(repo.to_owned());
        }
    }

    /// Returns the number of repositories, and the names of the first ones.
    pub fn repos(self) -> (usize, Vec<String>) {
        (self.repos.len(), self.repos.into_iter().take(MAX_AUDIT_REPOS).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_told_belongs_to_the_request() {
        told().repo("nobody");
        assert_eq!(told().take().repos(), (0, Vec::new()));
        let (one, other) = (Told::new(), Told::new());
        let work = async |names: &[&str]| {
            for name in names {
                told().file(name);
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(
            one.clone().scope(work(&["a", "b", "a"])),
            other.clone().scope(work(&["c", "c"]))
        );
        let (one, other) = (one.take(), other.take());
        assert_eq!((one.files, other.files), (3, 2));
        assert_eq!(one.repos(), (2, vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(other.repos(), (1, vec!["c".to_owned()]));
        let many = Told::new();
        for n in 0..MAX_AUDIT_REPOS + 7 {
            many.repo(&n.to_string());
        }
        let (count, names) = many.take().repos();
        assert_eq!((count, names.len()), (MAX_AUDIT_REPOS + 7, MAX_AUDIT_REPOS));
    }
}

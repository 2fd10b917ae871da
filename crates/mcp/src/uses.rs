//! Who uses a name, in short: for each file the numbers of the lines, with the functions around them.

use std::collections::HashMap;
use std::fmt::Write as _;

use anyhow::Result;
use navigate::{self, Label, Reference, ReferenceFile};
use search::View;

use super::answer::{Text, count};
use super::file::qualified;
use super::name::{self, Name, Told};
use super::references::{by_repository, file_json};

/// Files that are looked at for each one that is listed, since those without code are only counted; and the most of them.
const AHEAD: usize = 3;
const MOST_AHEAD: usize = 100;

/// Lines listed of a file.
const LINES: usize = 8;

/// What a name is in code, the most wanted first. Imports are listed if a file has nothing else.
const LISTED: [Label; 4] = [Label::Definition, Label::Call, Label::Type, Label::Use];

/// The files of a repository.
type OfRepo<'a> = (&'a str, Vec<&'a ReferenceFile>);

/// Returns the head and the list of an answer with the uses of a name, in at most `max` bytes.
pub(super) async fn uses_of(view: &View, asked: &Name, max: usize) -> Result<Told> {
    let ahead = asked.limit.saturating_mul(AHEAD).min(MOST_AHEAD.max(asked.limit));
    let request = name::request(view, asked, ahead).await?;
    let found = navigate::references(view, &request).await?;
    audit::told().results(found.files.iter().map(|file| file.repo.as_str()));
    let is_precise = !found.symbols.is_empty();
    let (code, mentions): (Vec<&ReferenceFile>, Vec<&ReferenceFile>) =
        found.files.iter().partition(|file| file.lines.iter().any(|line| line.label().is_code()));
    let mut text = Text::of(max);
    let (mut files, mut seen) = (0, HashMap::new());
    'all: for (repo, of_repo) in by_repo(code.into_iter().take(asked.limit)) {
        let (mut title, mut copies) = (format!("{repo}:\n"), None);
        for file in of_repo {
            let key: Vec<_> = file.lines.iter().map(|line| (line.line, &*line.text)).collect();
            let original: &mut &str = seen.entry((&*file.path, key)).or_insert(repo);
            if *original == repo {
                let told = in_short(file, name::basis(file.basis, is_precise));
                if !text.add(&format!("{title}{told}\n")) {
                    break 'all;
                }
                title.clear();
            } else {
                copies.get_or_insert((*original, 0)).1 += 1;
            }
            text.note(file_json(file, usize::MAX));
            files += 1;
        }
        if let Some((original, number)) = copies {
            let same = count(number, "file", "files");
            text.add(&format!("{repo}: {same} with the same lines as in {original}\n"));
        }
    }
    let lines = count(found.lines, "line", "lines");
    let verb = if found.lines == 1 { "uses" } else { "use" };
    let mut what = format!("{lines} in {} {verb} it", count(found.count, "file", "files"));
    if !mentions.is_empty() && found.count > 0 {
        what += &format!(", {} of them only in comments or strings", mentions.len());
        files += mentions.len();
    }
    let mut head = name::head(&what, (files, found.count, "files"), &found.stats, max);
    if found.count == 0 {
        head = format!("Nothing uses that name. {head}");
    }
    if files < found.count {
        head += &by_repository(&found);
    }
    Ok((head, text, name::about(&found.stats)))
}

/// Groups files by repository, in the order of the first files.
fn by_repo<'a>(files: impl Iterator<Item = &'a ReferenceFile>) -> Vec<OfRepo<'a>> {
    let mut repos: Vec<OfRepo<'a>> = Vec::new();
    for file in files {
        match repos.iter_mut().find(|(repo, _)| *repo == file.repo) {
            Some((_, of_repo)) => of_repo.push(file),
            None => repos.push((&file.repo, vec![file])),
        }
    }
    repos
}

/// Formats a file: `src/dict.c: 305 in dictAdd, 373, 380 in dictReplace; type 20; +3 comment`. What has no kind is a call.
fn in_short(file: &ReferenceFile, basis: &str) -> String {
    let of = |label: Label| {
        let mut lines: Vec<&Reference> =
            file.lines.iter().filter(|line| line.label() == label).collect();
        lines.sort_by_key(|line| line.line);
        lines
    };
    let mut parts: Vec<String> = Vec::new();
    let mut room = LINES;
    let listed = LISTED.into_iter().filter(|label| !of(*label).is_empty()).collect::<Vec<_>>();
    let listed = if listed.is_empty() { vec![Label::Import] } else { listed };
    for label in &listed {
        let lines = of(*label);
        let shown = &lines[..lines.len().min(room)];
        room -= shown.len();
        let more = lines.len() - shown.len();
        if !shown.is_empty() {
            // Most are calls.
            let kind =
                if *label == Label::Call { String::new() } else { format!("{} ", label.word()) };
            parts.push(format!("{kind}{}", numbers(shown)));
        }
        if more > 0 {
            parts.push(format!("+{more} {}", label.word()));
        }
    }
    for label in [Label::Import, Label::Comment, Label::String] {
        let lines = of(label).len();
        if lines > 0 && !listed.contains(&label) {
            parts.push(format!("+{lines} {}", label.word()));
        }
    }
    format!("{}: {basis}{}", file.path, parts.join("; "))
}

/// Formats the numbers of lines, those in the same function together.
fn numbers(lines: &[&Reference]) -> String {
    let mut text = String::new();
    let around = |line: &Reference| line.enclosing.as_ref().map(|of| qualified(of));
    for (at, line) in lines.iter().enumerate() {
        let gap = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{gap}{}", line.line);
        let of = around(line);
        if lines.get(at + 1).is_none_or(|next| around(next) != of)
            && let Some(of) = of
        {
            let _ = write!(text, " in {of}");
        }
    }
    text
}

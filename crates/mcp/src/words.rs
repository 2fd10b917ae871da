//! Answers a question in words: counts first, then the files that answer best, each with its best lines.

use answer::FileMatch;
use anyhow::Result;
use search::ask::{AskError, AskRequest, Asked};
use search::{Holds, ShownFiles, Stopped, View};
use serde_json::Value;

use super::answer::{Answer, Text, late};
use super::best::best_lines;
use super::file::{Names, around, file_json, line_json, numbered};
use super::question::LEAST_WORDS;
use super::search::{Search, about, broken, outdated, stale};
use request::ask_answer::{notes, summary};
use request::{AskOptions, Client, MAX_LINES};

/// Answers a call whose order is `words`. Fields for repositories, paths, languages and trees narrow it; all else is words.
pub(super) async fn answer(view: &View, asked: &Search) -> Result<Answer> {
    let mut options = AskOptions {
        limit: Some(asked.limit(true).clamp(1, search::ask::MAX_FILES)),
        lines: Some(asked.lines().min(MAX_LINES)),
        ..AskOptions::default()
    };
    let (mut words, mut from) = (String::new(), 0);
    for field in query::typed_fields(&asked.query).into_iter().filter(|field| !field.negated) {
        match field.name {
            "repo" => options.repos.push(field.value),
            "file" => options.files.push(field.value),
            "lang" => options.languages.push(field.value),
            "rev" | "branch" => options.rev = Some(field.value),
            "worktree" => options.worktree = Some(field.value),
            _ => continue,
        }
        words.push_str(&asked.query[from..field.range.start]);
        from = field.range.end;
    }
    words.push_str(&asked.query[from..]);
    let mut question = request::ask(&words, &options, &Client::AGENT)?;
    if asked.fresh {
        let mut among = question.among.as_ref().clone();
        let note = view.await_fresh(&among, Holds::ATurn).await?;
        among.notes.extend(note);
        question.among = among.into();
    }
    let ranked = asked_of(view, &question).await?;
    told(view, &ranked, asked, asked.max_bytes, None).await
}

/// Answers the words of a query that has found nothing, or few files; `None` if it has anything but words, or nothing has
/// any of them. An error message that was pasted in quotes is words, too.
pub(super) async fn after(
    view: &View,
    asked: &Search,
    found: &[(String, String)],
    max_bytes: usize,
) -> Result<Option<Answer>> {
    let typed = asked.query.trim();
    let quoted = typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let words = match quoted {
        Some(words) if found.is_empty() && !words.contains('"') => words,
        // A name that few files have is found.
        _ if !found.is_empty() && typed.split_whitespace().count() < LEAST_WORDS => {
            return Ok(None);
        }
        _ if query::is_only_words(typed) => typed,
        _ => return Ok(None),
    };
    // A query of signs has no word.
    let options = AskOptions {
        limit: Some(asked.limit(true).min(search::ask::MAX_FILES)),
        lines: Some(asked.lines().min(MAX_LINES)),
        ..AskOptions::default()
    };
    let Ok(question) = request::ask(words, &options, &Client::AGENT) else {
        return Ok(None);
    };
    let mut ranked = asked_of(view, &question).await?;
    let found_of = found.iter().map(|(repo, path)| (repo.as_str(), path.as_str()));
    request::by_words::without(&mut ranked, found_of);
    if ranked.files.is_empty() {
        return Ok(None);
    }
    let why = request::by_words::why(found.len(), &ranked);
    told(view, &ranked, asked, max_bytes, Some(&why)).await.map(Some)
}

async fn asked_of(view: &View, question: &AskRequest) -> Result<Asked> {
    let asked = search::ask::ask(view, question).await.map_err(|error| match error {
        AskError::Search(error) => anyhow::Error::from(error),
        other => other.into(),
    })?;
    audit::told().files(asked.files.iter().map(|found| &found.file));
    Ok(asked)
}

/// Returns the answer as a text and as JSON.
async fn told(
    view: &View,
    found: &Asked,
    asked: &Search,
    max_bytes: usize,
    before: Option<&str>,
) -> Result<Answer> {
    let files: Vec<&FileMatch> = found.files.iter().map(|one| &one.file).collect();
    let ends = view.last_lines(&files, found.stats.switch).await?;
    let (mut text, mut shown, mut count) = (Text::of(max_bytes), ShownFiles::default(), 0);
    let mut names = Names::default();
    for (file, ends) in files.iter().zip(&ends) {
        let gap = if text.is_empty() { "" } else { "\n" };
        let (mut piece, mut last) = (format!("{gap}{}\n", names.next(file)), None);
        let lines = best_lines(&file.lines, asked.lines_after(count), None);
        for line in &lines {
            piece += &around(line, ends, &mut last);
            piece += &numbered(line, true);
        }
        if !text.add(&piece) {
            break;
        }
        let mut item = file_json(file);
        item["lines"] = lines.iter().map(|line| line_json(line, ends)).collect();
        text.note(item);
        shown.add(file);
        count += 1;
    }
    let mut head = match before {
        Some(before) => format!("{before}. "),
        None => "Ranked by words: ".to_owned(),
    };
    head += &summary(found);
    head += &match &found.stats.stopped {
        Some(Stopped::Timeout(time)) => format!(", and there may be better ones: {}", late(*time)),
        Some(Stopped::Shards(_)) => {
            format!(", and there may be better ones: {}", broken(&found.stats))
        }
        _ if count == found.files.len() && found.stats.stopped.is_none() => {
            ". That is all.".to_owned()
        }
        _ => format!(". These are the best {count}; a file need not have all words."),
    };
    for note in notes(found) {
        head += &format!("\nNote: {note}.");
    }
    head += &outdated(&found.stats);
    head += &stale(&view.stale(shown).await);
    let epoch = view.state(found.stats.switch).await?.epoch;
    let answer = text.below(&head, "files", "").and("cursor", Value::Null);
    Ok(answer.about(about(&found.stats)).at(epoch))
}

//! The feed of a monitor (<https://www.rfc-editor.org/rfc/rfc4287>).

use std::fmt::Write as _;

use store::{Hit, Monitor, News};

/// Most entries of a feed.
pub const ENTRIES: usize = 50;

/// Returns the feed of a monitor as a document. `index` is the number that tells this index from others, `base` the
/// address of the server for others, without a slash at its end; empty if it is unknown.
pub fn feed(index: i64, base: &str, monitor: &Monitor, news: &[News]) -> String {
    let id = format!("urn:codesearch:{:016x}:{}", index.cast_unsigned(), monitor.id);
    let name = text(&monitor.name);
    let own = text(&format!("{base}/monitors/{}", monitor.name));
    let told: Vec<&News> = news.iter().filter(|of| of.appeared + of.disappeared > 0).collect();
    let updated = told.first().map_or(&monitor.created_at, |of| &of.at);
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{id}</id>\n\
         <title>{name}: {}</title>\n\
         <updated>{}</updated>\n\
         <author><name>codesearch</name></author>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{own}.atom\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{own}\"/>\n",
        text(&monitor.query),
        text(updated),
    );
    for of in told {
        let _ = write!(
            feed,
            "<entry>\n<id>{id}:{}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{own}#e{}\"/>\n\
             <content type=\"html\">{}</content>\n</entry>\n",
            of.epoch.0,
            text(&title(of)),
            text(&of.at),
            of.epoch.0,
            // HTML within XML.
            text(&content(of)),
        );
    }
    feed += "</feed>\n";
    feed
}

fn title(of: &News) -> String {
    let part = |number: usize, what: &str| {
        (number > 0).then(|| format!("{} {what}", request::human::count(number, "match")))
    };
    let parts = [part(of.appeared, "appeared"), part(of.disappeared, "disappeared")];
    let mut repos: Vec<&str> = of.hits.iter().map(|hit| hit.name.as_str()).collect();
    repos.dedup();
    let place = match repos.as_slice() {
        [] => String::new(),
        [one] => format!(" in {one}"),
        [first, ..] => format!(" in {first} and others"),
    };
    format!("{}{place}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Returns the matches as HTML.
fn content(of: &News) -> String {
    let mut html = String::from("<ul>");
    for Hit { appeared, name, path, line, text: found, .. } in &of.hits {
        let sign = if *appeared { "+" } else { "\u{2212}" };
        let place = match line {
            Some(line) => format!("{name}/{path}:{line}"),
            None => format!("{name}/{path}"),
        };
        let _ = write!(html, "<li>{sign} {}", text(&place));
        if let Some(found) = found {
            let _ = write!(html, " <code>{}</code>", text(found));
        }
        html += "</li>";
    }
    html += "</ul>";
    let more = (of.appeared + of.disappeared).saturating_sub(of.hits.len());
    if more > 0 {
        let _ = write!(html, "<p>and {more} more</p>");
    }
    if let Some(note) = &of.note {
        let _ = write!(html, "<p>{}</p>", text(note));
    }
    html
}

/// Escapes a text for XML and HTML. Characters that XML cannot have (<https://www.w3.org/TR/xml/#charsets>) are replaced.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\t' | '\n' | '\r' => escaped.push(c),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c < ' ' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use store::{Epoch, RepoId};

    use super::*;

    fn monitor() -> Monitor {
        Monitor {
            id: 3,
            name: "todo".to_owned(),
            owner: None,
            query: "<script> & \"x\"".to_owned(),
            repos: Vec::new(),
            owner_groups: Vec::new(),
            owner_repos: Vec::new(),
            address: None,
            paused: false,
            why: None,
            since_epoch: 1,
            created_at: "2026-01-31T12:00:00Z".to_owned(),
        }
    }

    #[test]
    fn all_text_is_escaped_and_ids_are_stable() {
        let hit = |appeared| Hit {
            appeared,
            repo: RepoId(1),
            name: "acme/shop".to_owned(),
            path: "<b>.rs".to_owned(),
            line: appeared.then_some(7),
            text: appeared.then(|| "]]></content><script>\u{1}\u{ffff}".to_owned()),
        };
        let news = |epoch, appeared, hits| News {
            id: 1,
            epoch: Epoch(epoch),
            at: format!("2026-02-0{epoch}T00:00:00Z"),
            appeared,
            disappeared: 1,
            note: Some("a & b".to_owned()),
            hits,
        };
        let quiet = News { appeared: 0, disappeared: 0, ..news(9, 0, Vec::new()) };
        let all = [quiet, news(5, 2, vec![hit(true), hit(false)]), news(4, 0, vec![hit(false)])];
        let feed = feed(-1, "https://search.example", &monitor(), &all);
        for part in [
            "<id>urn:codesearch:ffffffffffffffff:3</id>",
            "<title>todo: &lt;script&gt; &amp; &quot;x&quot;</title>",
            "<updated>2026-02-05T00:00:00Z</updated>",
            "href=\"https://search.example/monitors/todo.atom\"",
            "<id>urn:codesearch:ffffffffffffffff:3:5</id>",
            "<title>2 matches appeared, 1 match disappeared in acme/shop</title>",
            "&lt;li&gt;+ acme/shop/&amp;lt;b&amp;gt;.rs:7 &lt;code&gt;]]&amp;gt;&amp;lt;/content&amp;gt;",
            "and 1 more",
            "<title>1 match disappeared in acme/shop</title>",
        ] {
            assert!(feed.contains(part), "{part}\n{feed}");
        }
        assert_eq!(feed.matches("<entry>").count(), 2);
        assert!(
            !feed.contains("<script>") && !feed.contains('\u{1}') && !feed.contains('\u{ffff}')
        );
        let empty = super::feed(1, "", &monitor(), &[]);
        assert!(
            empty.contains("<updated>2026-01-31T12:00:00Z</updated>")
                && empty.contains("href=\"/monitors/todo\"")
        );
    }
}

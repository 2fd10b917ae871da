//! Decides which of the repositories that a host lists are mirrored.

use settings::{Host, Visibility, written_size};

use crate::listed::{Listed, SeenBy};

/// Returns why a repository is not mirrored; `None` if it is. `is_named` says that `take` names it alone, whatever it is
/// called now.
pub(crate) fn left_out(host: &Host, listed: &Listed, is_named: bool) -> Option<String> {
    let path = &*listed.path;
    if !is_plain(path) {
        return Some("its path has characters that no address has".to_owned());
    }
    if !is_named && host.take.matching(path).is_none() {
        return Some("no glob of take matches".to_owned());
    }
    if let Some(glob) = host.leave.matching(path) {
        return Some(format!("leave has {glob}"));
    }
    if listed.fork && !host.forks {
        return Some("it is a fork (forks = true takes it)".to_owned());
    }
    if listed.archived && !host.archived {
        return Some("it is archived (archived = false)".to_owned());
    }
    let seen_by = match listed.seen_by {
        SeenBy::Public => Visibility::Public,
        SeenBy::Internal => Visibility::Internal,
        SeenBy::Private => Visibility::Private,
    };
    if !host.visibility.is_empty() && !host.visibility.contains(&seen_by) {
        return Some(format!("it is {}, which visibility does not name", listed.seen_by.word()));
    }
    let has = |topic: &&String| listed.topics.iter().any(|own| own.eq_ignore_ascii_case(topic));
    if !host.topics.is_empty() && !host.topics.iter().any(|topic| has(&topic)) {
        return Some("it has none of the topics".to_owned());
    }
    if let Some(topic) = host.leave_topics.iter().find(has) {
        return Some(format!("leave_topics has {topic}"));
    }
    if let (Some(bytes), Some(most)) = (listed.bytes, host.max_size)
        && bytes > most
    {
        return Some(too_large(bytes, most));
    }
    listed.empty.then(|| "it is empty".to_owned())
}

/// Says that a repository is larger than `max_size`.
pub(crate) fn too_large(bytes: u64, most: u64) -> String {
    format!("it has {}, more than max_size = {}", written_size(bytes), written_size(most))
}

/// Returns whether a path is one that hosts give: it becomes a part of an address.
fn is_plain(path: &str) -> bool {
    let is_known = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '+' | '~');
    path.contains('/')
        && path.chars().all(is_known)
        && path.split('/').all(|part| {
            !part.is_empty() && !part.starts_with('-') && !part.chars().all(|c| c == '.')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(lines: &str) -> Host {
        let text = format!("[host.x]\nkind = \"github\"\n{lines}\n");
        let settings = settings::Settings::parse(std::path::Path::new("/x.toml"), &text).unwrap();
        settings.hosts.into_iter().next().unwrap()
    }

    #[test]
    fn the_first_rule_that_leaves_a_repository_out_is_told() {
        let listed = Listed {
            id: "1".to_owned(),
            path: "Org/One".to_owned(),
            seen_by: SeenBy::Internal,
            fork: true,
            archived: true,
            topics: vec!["Web".to_owned()],
            bytes: Some(3 << 30),
            ..Listed::default()
        };
        for (lines, expected) in [
            ("take = [\"other\"]", "no glob of take matches"),
            ("take = [\"org\"]\nleave = [\"*/o*\"]", "leave has */o*"),
            ("take = [\"org\"]", "it is a fork (forks = true takes it)"),
            ("take = [\"org\"]\nforks = true", ""),
            (
                "take = [\"org\"]\nforks = true\narchived = false",
                "it is archived (archived = false)",
            ),
            (
                "take = [\"org\"]\nforks = true\nvisibility = [\"public\", \"private\"]",
                "it is internal, which visibility does not name",
            ),
            ("take = [\"org\"]\nforks = true\ntopics = [\"db\"]", "it has none of the topics"),
            ("take = [\"org\"]\nforks = true\ntopics = [\"web\"]", ""),
            ("take = [\"org\"]\nforks = true\nleave_topics = [\"web\"]", "leave_topics has web"),
            ("take = [\"org\"]\nforks = true\nmax_size = \"1 GB\"", "it has "),
        ] {
            let told = left_out(&host(lines), &listed, false).unwrap_or_default();
            assert!(
                told == expected || (expected.ends_with(' ') && told.starts_with(expected)),
                "{lines}: {told}"
            );
        }
        let named = host("take = [\"org/old\"]\nforks = true");
        assert_eq!(left_out(&named, &listed, true), None, "it was found by its old name");
        let empty = Listed { empty: true, ..listed.clone() };
        assert_eq!(left_out(&named, &empty, true).as_deref(), Some("it is empty"));
    }

    #[test]
    fn paths_that_would_be_other_addresses_are_left_out() {
        for path in ["a/b", "a/b.c/d_e", "é/b", "a/~b"] {
            assert!(is_plain(path), "{path}");
        }
        for path in [
            "a", "a/../b", "a/-b", "-a/b", "a//b", "a/b?c", "a/b#c", "a/b c", "a/b@c", "a/b:c",
            "a/b\n", "a/%2e",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }
}

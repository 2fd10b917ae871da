//! What one principal may see.

use std::collections::HashMap;
use std::sync::Arc;

use crate::pattern::Globs;
use crate::{Grants, HostShows, Principal};

/// All that decides who sees what, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Grants of the configuration file; `None` if it has no `[access]`.
    pub configured: Option<Arc<Grants>>,
    /// Grants of the index; `None` if nothing was ever granted there.
    pub stored: Option<Arc<Grants>>,
    /// What hosts said lately of mirrored repositories, by the folders of these.
    pub hosts: Arc<HashMap<String, HostShows>>,
}

/// Why somebody sees a repository.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Why {
    /// Nothing was ever granted, so everybody sees all.
    Unrestricted,
    /// The owner of the index's folder sees all.
    Owner,
    /// A grant of the configuration file: to whom, and its glob.
    Configured(crate::Who, Arc<str>),
    /// A grant of the index.
    Stored(crate::Who, Arc<str>),
    /// The host shows it to everybody, or to everybody with an account.
    Host(HostShows),
}

impl Rules {
    /// Returns whether only what is granted is seen. Before anything is granted, everybody sees all.
    pub fn is_restricted(&self) -> bool {
        self.configured.is_some() || self.stored.is_some()
    }

    /// Returns what a principal may see; `None` for all.
    pub fn of(&self, principal: &Principal) -> Option<Allowed> {
        let Principal::Named(named) = principal else {
            let is_all = principal.is_owner() || !self.is_restricted();
            return (!is_all).then(|| self.granted(principal));
        };
        if !self.is_restricted() && named.repos.is_empty() {
            return None;
        }
        let mut allowed = self.granted(principal);
        if !named.repos.is_empty() {
            allowed.narrowed = Some(named.repos.iter().map(|glob| glob.as_str().into()).collect());
        }
        Some(allowed)
    }

    /// Returns what somebody may see to whom nothing is granted.
    pub fn nothing() -> Allowed {
        Allowed { globs: Vec::new(), hosts: Arc::default(), is_named: false, narrowed: None }
    }

    fn granted(&self, principal: &Principal) -> Allowed {
        let mut globs: Vec<Arc<str>> = Vec::new();
        if self.is_restricted() {
            let sources = [&self.configured, &self.stored];
            globs.extend(sources.into_iter().flatten().flat_map(|grants| grants.of(principal)));
        } else {
            globs.push("**".into());
        }
        let is_named = matches!(principal, Principal::Named(_));
        Allowed { globs, hosts: Arc::clone(&self.hosts), is_named, narrowed: None }
    }

    /// Returns why a principal sees the repository with a name, in a folder; `None` if it does not.
    pub fn why(&self, principal: &Principal, name: &str, folder: &str) -> Option<Why> {
        if principal.is_owner() {
            return Some(Why::Owner);
        }
        if !self.of(principal).is_none_or(|allowed| allowed.ready().shows(name, folder)) {
            return None;
        }
        if !self.is_restricted() {
            return Some(Why::Unrestricted);
        }
        let of = |grants: &Option<Arc<Grants>>| grants.as_ref()?.shows(principal, name);
        let configured = of(&self.configured).map(|(who, glob)| Why::Configured(who, glob));
        let stored = || of(&self.stored).map(|(who, glob)| Why::Stored(who, glob));
        let host = || Some(Why::Host(*self.hosts.get(folder)?));
        configured.or_else(stored).or_else(host)
    }
}

/// What one principal may see. It is small: [`ready`](Self::ready) compiles it for a while.
#[derive(Clone, Debug)]
pub struct Allowed {
    globs: Vec<Arc<str>>,
    hosts: Arc<HashMap<String, HostShows>>,
    is_named: bool,
    /// Globs of which one must match, too.
    narrowed: Option<Vec<Arc<str>>>,
}

/// [`Allowed`], compiled.
#[derive(Debug)]
pub struct Ready {
    globs: Globs,
    hosts: Arc<HashMap<String, HostShows>>,
    is_named: bool,
    narrowed: Option<Globs>,
}

impl Allowed {
    /// Compiles it.
    pub fn ready(&self) -> Ready {
        let narrowed = self.narrowed.as_ref();
        Ready {
            globs: Globs::new(self.globs.iter().map(|glob| &**glob)),
            hosts: Arc::clone(&self.hosts),
            is_named: self.is_named,
            narrowed: narrowed.map(|globs| Globs::new(globs.iter().map(|glob| &**glob))),
        }
    }
}

impl Ready {
    /// Returns whether the repository with a name, in a folder, is seen.
    pub fn shows(&self, name: &str, folder: &str) -> bool {
        let by_host = || match self.hosts.get(folder) {
            Some(HostShows::Everybody) => true,
            Some(HostShows::Users) => self.is_named,
            Some(HostShows::Members) | None => false,
        };
        self.narrowed.as_ref().is_none_or(|globs| globs.is_match(name))
            && (self.globs.is_match(name) || by_host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Named, Who};

    fn grants(all: &[(&str, &str)]) -> Arc<Grants> {
        Arc::new(Grants::new(all.iter().map(|(who, glob)| (who.parse().unwrap(), glob))))
    }

    fn shows(rules: &Rules, principal: &Principal, name: &str) -> bool {
        let sees = rules.of(principal).is_none_or(|of| of.ready().shows(name, &format!("/{name}")));
        assert_eq!(sees, rules.why(principal, name, &format!("/{name}")).is_some());
        sees
    }

    #[test]
    fn everybody_sees_all_until_something_is_granted() {
        let ann = Principal::named("ann", vec!["team".to_owned()]);
        let mut rules = Rules::default();
        for who in [&Principal::Owner, &ann, &Principal::Anonymous] {
            assert!(shows(&rules, who, "x") && rules.of(who).is_none());
        }
        // What is granted to nobody any more stays closed.
        rules.stored = Some(Arc::default());
        assert!(shows(&rules, &Principal::Owner, "x"));
        assert!(!shows(&rules, &ann, "x") && !shows(&rules, &Principal::Anonymous, "x"));
        rules.configured =
            Some(grants(&[("group:team", "a/**"), ("user:team", "b"), ("*", "open")]));
        for (name, to_ann, to_all) in
            [("a/x", true, false), ("b", false, false), ("open", true, true), ("a", false, false)]
        {
            assert_eq!(shows(&rules, &ann, name), to_ann, "{name}");
            assert_eq!(shows(&rules, &Principal::Anonymous, name), to_all, "{name}");
        }
        rules.stored = Some(grants(&[("user:*", "c")]));
        assert!(shows(&rules, &ann, "c") && !shows(&rules, &Principal::Anonymous, "c"));
        let why = rules.why(&ann, "a/x", "/a/x");
        assert_eq!(why, Some(Why::Configured(Who::Group("team".to_owned()), "a/**".into())));
    }

    #[test]
    fn hosts_show_to_everybody_or_to_users() {
        let said =
            [("/p", HostShows::Everybody), ("/i", HostShows::Users), ("/m", HostShows::Members)];
        let hosts = said.into_iter().map(|(folder, says)| (folder.to_owned(), says)).collect();
        let rules =
            Rules { stored: Some(Arc::default()), hosts: Arc::new(hosts), ..Rules::default() };
        let ann = Principal::named("ann", Vec::new());
        for (name, to_ann, to_all) in [("p", true, true), ("i", true, false), ("m", false, false)] {
            assert_eq!(shows(&rules, &ann, name), to_ann, "{name}");
            assert_eq!(shows(&rules, &Principal::Anonymous, name), to_all, "{name}");
        }
    }

    #[test]
    fn a_token_is_narrowed_and_never_widened() {
        let named = Named { repos: vec!["a/*".to_owned()], ..Named::new("ann", Vec::new()) };
        let narrow = Principal::Named(Arc::new(named));
        assert!(shows(&Rules::default(), &narrow, "a/x"));
        assert!(!shows(&Rules::default(), &narrow, "b"));
        let rules = Rules { stored: Some(grants(&[("user:ann", "b")])), ..Rules::default() };
        assert!(!shows(&rules, &narrow, "a/x") && !shows(&rules, &narrow, "b"));
    }
}

//! The declaration of a parameter, from which its check and its entry in the `OpenAPI` document follow.

use serde_json::{Value, json};

/// Default for the longest text of a parameter, in bytes: that of a path on most systems.
const MAX_TEXT: usize = 4096;

/// Longest text of a number or a word, in bytes.
const MAX_WORD: usize = 64;

/// A parameter of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether it is required. The handler reports a missing one in its own words.
    pub(crate) required: bool,
    /// Whether it may be given several times.
    pub(crate) repeats: bool,
    /// A sentence for the `OpenAPI` document, with the default.
    pub(crate) says: &'static str,
}

/// The values that a parameter takes. An empty value counts as missing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any text of at most this many bytes. The code that reads the value checks it further.
    Text { most: usize },
    /// A number within bounds.
    Number {
        least: usize,
        most: usize,
        /// The noun phrase of a valid value, for the error message: `a number up to 1000`.
        instead: &'static str,
    },
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// The parameters of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredParams {
    /// Parameters in the `OpenAPI` document.
    pub(crate) documented: &'static [Param],
    /// Parameters left out of it: those that only our own pages need, or only a related endpoint uses.
    pub(crate) undocumented: &'static [Param],
}

impl DeclaredParams {
    /// No parameters.
    pub(crate) const NONE: Self = Self { documented: &[], undocumented: &[] };

    /// Iterates over all parameters.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static Param> {
        self.documented.iter().chain(self.undocumented)
    }

    /// Returns the parameter of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Param> {
        self.all().find(|param| param.name == name)
    }
}

impl Param {
    /// Declares an optional parameter with any text of at most [`MAX_TEXT`] bytes.
    pub(crate) const fn text(name: &'static str, says: &'static str) -> Self {
        Self { name, kind: Kind::Text { most: MAX_TEXT }, required: false, repeats: false, says }
    }

    /// Declares an optional parameter with a short text: a switch, a number, a duration.
    pub(crate) const fn word(name: &'static str, says: &'static str) -> Self {
        Self::text(name, says).at_most(MAX_WORD)
    }

    /// Limits its text to this many bytes.
    pub(crate) const fn at_most(self, most: usize) -> Self {
        Self { kind: Kind::Text { most }, ..self }
    }

    /// Returns the most bytes of a value.
    pub(crate) const fn most_bytes(&self) -> usize {
        match self.kind {
            Kind::Text { most } => most,
            Kind::Number { .. } | Kind::OneOf(_) => MAX_WORD,
        }
    }

    /// Declares an optional parameter with one of these words.
    pub(crate) const fn one_of(
        name: &'static str,
        words: &'static [&'static str],
        says: &'static str,
    ) -> Self {
        Self { name, kind: Kind::OneOf(words), required: false, repeats: false, says }
    }

    /// Makes the parameter required.
    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Allows it several times.
    pub(crate) const fn repeated(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// Replaces its sentence.
    pub(crate) const fn saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    /// Checks a value, its length first: parsing it later may take more than linear time.
    ///
    /// # Errors
    /// A sentence that says what to give instead.
    pub(crate) fn check(&self, value: &str) -> Result<(), String> {
        let most = self.most_bytes();
        if value.len() > most {
            return Err(format!("{}= is longer than {most} bytes; give a shorter text", self.name));
        }
        let (fits, instead) = match self.kind {
            Kind::Text { .. } => return Ok(()),
            Kind::Number { least, most, instead } => {
                let number = value.parse::<usize>().ok();
                let within = |number| number >= least && number <= most;
                (number.is_some_and(within), instead.to_owned())
            }
            Kind::OneOf(words) => (words.contains(&value), either(words)),
        };
        if fits { Ok(()) } else { Err(format!("{}={value}: use {instead}", self.name)) }
    }

    /// Returns its entry in the `OpenAPI` document.
    pub(crate) fn openapi(&self) -> Value {
        let schema = match self.kind {
            Kind::Text { most } if self.required => {
                json!({ "type": "string", "minLength": 1, "maxLength": most })
            }
            Kind::Text { most } => json!({ "type": "string", "maxLength": most }),
            Kind::Number { least, most, .. } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
        };
        let schema =
            if self.repeats { json!({ "type": "array", "items": schema }) } else { schema };
        json!({
            "name": self.name,
            "in": "query",
            "description": self.says,
            "required": self.required,
            "schema": schema,
        })
    }
}

/// Joins words: `yes, no or auto`.
fn either(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        words => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_by_what_is_declared() {
        let instead = "a number from 1 to 9";
        let kind = Kind::Number { least: 1, most: 9, instead };
        let number = Param { kind, ..Param::text("n", "") };
        let word = Param::one_of("w", &["yes", "no", "auto"], "");
        for (param, value, wrong) in [
            (number, "1", None),
            (number, "9", None),
            (number, "0", Some("n=0: use a number from 1 to 9")),
            (number, "10", Some("n=10: use a number from 1 to 9")),
            (number, "-1", Some("n=-1: use a number from 1 to 9")),
            (number, "x", Some("n=x: use a number from 1 to 9")),
            (word, "no", None),
            (word, "No", Some("w=No: use yes, no or auto")),
            (Param::text("t", ""), "any", None),
            (Param::text("t", "").at_most(4), "éé", None),
            (
                Param::text("t", "").at_most(4),
                "ééé",
                Some("t= is longer than 4 bytes; give a shorter text"),
            ),
            (
                number,
                "0000000000000000000000000000000000000000000000000000000000000000000000001",
                Some("n= is longer than 64 bytes; give a shorter text"),
            ),
        ] {
            assert_eq!(param.check(value).err().as_deref(), wrong, "{value}");
        }
        assert_eq!(either(&["json", "html"]), "json or html");
        assert_eq!(
            number.openapi()["schema"],
            json!({ "type": "integer", "minimum": 1, "maximum": 9 })
        );
    }
}

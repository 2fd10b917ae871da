//! Files whose language `gengo-language` does not know by their names, or gets wrong.

/// Extensions, in lowercase.
pub(super) const EXTENSIONS: &[(&str, &str)] = &[
    ("adoc", "AsciiDoc"),
    ("asciidoc", "AsciiDoc"),
    ("awk", "Awk"),
    ("axml", "XML"),
    ("bats", "Shell"),
    ("bazel", "Starlark"),
    ("bb", "BitBake"),
    ("bbclass", "BitBake"),
    ("bib", "TeX"),
    ("bzl", "Starlark"),
    ("cc", "C++"),
    ("cjs", "JavaScript"),
    ("cppm", "C++"),
    ("csh", "Shell"),
    ("csproj", "XML"),
    ("cts", "TypeScript"),
    ("cu", "CUDA"),
    ("cuh", "CUDA"),
    ("cxx", "C++"),
    ("diff", "Diff"),
    ("dockerfile", "Docker"),
    ("dpr", "Pascal"),
    ("dtx", "TeX"),
    ("edn", "Clojure"),
    ("fish", "Fish"),
    ("frm", "Visual Basic"),
    ("fsi", "F#"),
    ("fsproj", "XML"),
    ("g4", "ANTLR"),
    ("gemfile", "Ruby"),
    ("geojson", "JSON"),
    ("gql", "GraphQL"),
    ("gradle", "Groovy"),
    ("gvy", "Groovy"),
    ("gyp", "Python"),
    ("gypi", "Python"),
    ("hsc", "Haskell"),
    ("htm", "HTML"),
    ("hxx", "C++"),
    ("inl", "C++"),
    ("ipp", "C++"),
    ("ixx", "C++"),
    ("jbuilder", "Ruby"),
    ("jenkinsfile", "Groovy"),
    ("jsonl", "JSON"),
    ("just", "Just"),
    ("ksh", "Shell"),
    ("less", "CSS"),
    ("lhs", "Haskell"),
    ("lpr", "Pascal"),
    ("mak", "Makefile"),
    ("mdx", "MDX"),
    ("mjs", "JavaScript"),
    ("mk", "Makefile"),
    ("mkd", "Markdown"),
    ("mll", "OCaml"),
    ("mly", "OCaml"),
    ("mts", "TypeScript"),
    ("nasm", "Assembly"),
    ("nims", "Nim"),
    ("nu", "Nushell"),
    ("patch", "Diff"),
    ("pgsql", "SQL"),
    ("phtml", "PHP"),
    ("plist", "XML"),
    ("plsql", "SQL"),
    ("pod", "Perl"),
    ("podspec", "Ruby"),
    ("props", "XML"),
    ("psd1", "PowerShell"),
    ("psgi", "Perl"),
    ("psm1", "PowerShell"),
    ("pxd", "Python"),
    ("pyi", "Python"),
    ("pyw", "Python"),
    ("pyx", "Python"),
    ("qrc", "XML"),
    ("rake", "Ruby"),
    ("resx", "XML"),
    ("ru", "Ruby"),
    ("sed", "Sed"),
    ("sml", "Standard ML"),
    ("star", "Starlark"),
    ("storyboard", "XML"),
    ("sty", "TeX"),
    ("tcc", "C++"),
    ("tcsh", "Shell"),
    ("tk", "Tcl"),
    ("tpp", "C++"),
    ("txx", "C++"),
    ("vbs", "Visual Basic"),
    ("vcxproj", "XML"),
    ("wsdl", "XML"),
    ("xhtml", "HTML"),
    ("xib", "XML"),
    ("xsd", "XML"),
    ("zon", "Zig"),
    ("zsh-theme", "Shell"),
];

/// Extensions that mean another language in capitals.
pub(super) const CAPITALS: &[(&str, &str)] = &[("C", "C++"), ("H", "C++"), ("S", "Assembly")];

/// Names of files.
const NAMES: &[(&str, &str)] = &[
    (".bash_aliases", "Shell"),
    (".bash_logout", "Shell"),
    (".bash_profile", "Shell"),
    (".bashrc", "Shell"),
    (".clang-format", "YAML"),
    (".clang-tidy", "YAML"),
    (".emacs", "Emacs Lisp"),
    (".envrc", "Shell"),
    (".eslintrc", "JSON with Comments"),
    (".gitattributes", "INI"),
    (".gitconfig", "INI"),
    (".gitmodules", "INI"),
    (".jshintrc", "JSON with Comments"),
    (".prettierrc", "JSON"),
    (".profile", "Shell"),
    (".rprofile", "R"),
    (".zprofile", "Shell"),
    (".zshenv", "Shell"),
    (".zshrc", "Shell"),
    ("apkbuild", "Shell"),
    ("appraisals", "Ruby"),
    ("berksfile", "Ruby"),
    ("brewfile", "Ruby"),
    ("bsdmakefile", "Makefile"),
    ("buck", "Starlark"),
    ("build", "Starlark"),
    ("build.bazel", "Starlark"),
    ("capfile", "Ruby"),
    ("composer.lock", "JSON"),
    ("containerfile", "Docker"),
    ("dangerfile", "Ruby"),
    ("dockerfile", "Docker"),
    ("fastfile", "Ruby"),
    ("gemfile.lock", "Plain Text"),
    ("gnumakefile", "Makefile"),
    ("guardfile", "Ruby"),
    ("jenkinsfile", "Groovy"),
    ("justfile", "Just"),
    ("kbuild", "Makefile"),
    ("makefile", "Makefile"),
    ("makefile.am", "Makefile"),
    ("makefile.in", "Makefile"),
    ("meson.build", "Meson"),
    ("meson.options", "Meson"),
    ("meson_options.txt", "Meson"),
    ("module.bazel", "Starlark"),
    ("pipfile", "TOML"),
    ("pipfile.lock", "JSON"),
    ("pkgbuild", "Shell"),
    ("podfile", "Ruby"),
    ("sconscript", "Python"),
    ("sconstruct", "Python"),
    ("snakefile", "Python"),
    ("thorfile", "Ruby"),
    ("tiltfile", "Starlark"),
    ("vagrantfile", "Ruby"),
    ("workspace", "Starlark"),
    ("workspace.bazel", "Starlark"),
    ("wscript", "Python"),
];

/// Names before a dot: `Dockerfile.dev`, `Jenkinsfile.release`.
const STEMS: &[(&str, &str)] = &[
    ("Containerfile", "Docker"),
    ("Dockerfile", "Docker"),
    ("Jenkinsfile", "Groovy"),
    ("Makefile", "Makefile"),
];

/// Returns the language of a file by its name without folders.
pub(super) fn by_name(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    if let Ok(at) = NAMES.binary_search_by_key(&lower.as_str(), |(known, _)| known) {
        return Some(NAMES[at].1);
    }
    let (stem, _) = name.split_once('.')?;
    STEMS.iter().find(|(known, _)| *known == stem).map(|(_, language)| *language)
}

/// Returns the language of files with an extension in lowercase.
pub(super) fn by_extension(extension: &str) -> Option<&'static str> {
    let at = EXTENSIONS.binary_search_by_key(&extension, |(known, _)| known).ok()?;
    Some(EXTENSIONS[at].1)
}

/// Returns all names of languages in the tables.
pub(super) fn languages() -> impl Iterator<Item = &'static str> {
    let tables = [EXTENSIONS, CAPITALS, NAMES, STEMS];
    tables.into_iter().flatten().map(|(_, language)| *language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(EXTENSIONS.is_sorted_by_key(|(extension, _)| extension));
        assert!(NAMES.is_sorted_by_key(|(name, _)| name));
        assert!(NAMES.iter().all(|(name, _)| *name == name.to_lowercase()));
    }
}

//! C and C++.

use std::ops::Range;

use query::SymbolKind;
use query::SymbolKind::{
    Class, Constructor, Enum, EnumMember, Field, Function, Macro, Method, Namespace, Struct, Type,
    Union, Variable,
};
use tree_sitter::Node;

use crate::blanks::{Blanks, is_word};
use crate::grammar::{Grammar, Neighbour, Rule, define, look};
use crate::walk::{Descent, Walk, child, field};

const MACRO: Rule = define("preproc_def", Macro);
const MACRO_FUNCTION: Rule = define("preproc_function_def", Macro);
const ENUMERATOR: Rule = define("enumerator", EnumMember);
const STRUCT: Rule = look("struct_specifier", |walk, node| specifier(walk, node, Struct));
const UNION: Rule = look("union_specifier", |walk, node| specifier(walk, node, Union));
const ENUM: Rule = look("enum_specifier", |walk, node| specifier(walk, node, Enum));
const TYPEDEF: Rule = look("type_definition", typedef);
const FUNCTION: Rule = look("function_definition", function);
const DECLARATION: Rule = look("declaration", declaration);
const MEMBERS: Rule = look("field_declaration", members);

pub(crate) static C: Grammar = Grammar {
    names: &["c"],
    language: &grammars::C,
    rules: &[
        MACRO,
        MACRO_FUNCTION,
        ENUMERATOR,
        STRUCT,
        UNION,
        ENUM,
        TYPEDEF,
        FUNCTION,
        DECLARATION,
        MEMBERS,
    ],
    skip: &["argument_list", "initializer_list", "preproc_arg", "preproc_include"],
    neighbour: Some(Neighbour { grammar: &CPP, signs: &["namespace ", "template", "class "] }),
    blank: Some(for_members),
};

pub(crate) static CPP: Grammar = Grammar {
    names: &["c++", "arduino"],
    language: &grammars::CPP,
    rules: &[
        MACRO,
        MACRO_FUNCTION,
        ENUMERATOR,
        STRUCT,
        UNION,
        ENUM,
        TYPEDEF,
        FUNCTION,
        DECLARATION,
        MEMBERS,
        look("class_specifier", |walk, node| specifier(walk, node, Class)),
        look("namespace_definition", namespace),
        define("alias_declaration", Type),
        define("concept_definition", Type),
    ],
    skip: &[
        "argument_list",
        "initializer_list",
        "preproc_arg",
        "preproc_include",
        "template_parameter_list",
    ],
    neighbour: None,
    blank: Some(macros),
};

/// A type with a body; without one it is only named. One without a name may have that of a `typedef`.
fn specifier(walk: &mut Walk<'_>, node: Node<'_>, kind: SymbolKind) -> Descent {
    if field(node, "body").is_none() {
        return Descent::Past;
    }
    let name = match field(node, "name") {
        Some(name) => innermost(name),
        None => {
            let Some(parent) = node.parent().filter(|parent| parent.kind() == "type_definition")
            else {
                return Descent::In;
            };
            match parent
                .children_by_field_name("declarator", &mut parent.walk())
                .next()
                .and_then(declared)
            {
                Some((name, false)) => name,
                _ => return Descent::In,
            }
        }
    };
    Descent::Within(walk.add(kind, name, node))
}

/// Each declarator of a `typedef` names a type.
fn typedef(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    // A type that is defined in it comes first: the name is that type's if it has no other.
    let is_named = field(node, "type")
        .is_none_or(|of| field(of, "body").is_none() || field(of, "name").is_some());
    let mut cursor = node.walk();
    for (at, declarator) in node.children_by_field_name("declarator", &mut cursor).enumerate() {
        if let Some((name, through)) = declared(declarator)
            && (at > 0 || is_named || through)
        {
            walk.add(Type, name, node);
        }
    }
    Descent::In
}

/// Returns the name that a declarator declares, and whether as something else than itself: a function, a pointer, an
/// array.
fn declared(mut declarator: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut through = false;
    loop {
        match declarator.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "primitive_type"
            | "qualified_identifier"
            | "operator_name"
            | "destructor_name"
            | "template_function"
            | "template_method"
            | "operator_cast" => {
                return Some((declarator, through));
            }
            "init_declarator" | "parenthesized_declarator" | "attributed_declarator" => {}
            _ => through = true,
        }
        declarator = field(declarator, "declarator").or_else(|| {
            declarator
                .named_children(&mut declarator.walk())
                .find(|child| child.kind() != "attribute_declaration")
        })?;
    }
}

/// Returns the declarator of a function if that is what is declared, and not a pointer to one.
fn function_declarator(mut declarator: Node<'_>) -> Option<Node<'_>> {
    loop {
        if declarator.kind() == "function_declarator" {
            let inner = field(declarator, "declarator")?;
            // int (*pointer)(void), but int (name)(void).
            let is_pointer = inner.kind() == "parenthesized_declarator"
                && inner.named_child(0).is_some_and(|of| of.kind() == "pointer_declarator");
            return (!is_pointer).then_some(declarator);
        }
        declarator = match declarator.kind() {
            "pointer_declarator" | "attributed_declarator" | "parenthesized_declarator" => {
                field(declarator, "declarator").or_else(|| declarator.named_child(0))?
            }
            "reference_declarator" => {
                declarator.named_child(declarator.named_child_count().checked_sub(1)? as u32)?
            }
            _ => return None,
        };
    }
}

/// Returns the last part of a qualified name.
fn innermost(mut name: Node<'_>) -> Node<'_> {
    while let "qualified_identifier"
    | "template_type"
    | "template_function"
    | "template_method"
    | "dependent_name" = name.kind()
    {
        match field(name, "name") {
            Some(inner) => name = inner,
            None => break,
        }
    }
    name
}

/// Returns what qualifies the last part of a name.
fn scope(mut name: Node<'_>) -> Option<Node<'_>> {
    let mut scope = None;
    while name.kind() == "qualified_identifier" {
        scope = field(name, "scope");
        name = field(name, "name")?;
    }
    scope.map(innermost)
}

/// Adds a function or method by its declarator.
fn add_function(walk: &mut Walk<'_>, declarator: Node<'_>, node: Node<'_>) -> Option<usize> {
    let (name, _) = declared(field(declarator, "declarator").unwrap_or(declarator))?;
    let (scope, mut inner) = (scope(name), innermost(name));
    if inner.kind() == "operator_cast" {
        // operator bool(): its type names it.
        inner = field(inner, "type").unwrap_or(inner);
    }
    let of = scope
        .map(|scope| walk.text(scope))
        .or_else(|| walk.around_name().filter(|_| walk.is_in_type()));
    let kind = match of {
        None => Function,
        Some(of) if of == walk.text(inner) => Constructor,
        Some(_) => Method,
    };
    let function = walk.add(kind, inner, node);
    if let Some(scope) = scope {
        walk.member_of(function, scope);
    }
    Some(function)
}

fn function(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(declarator) = field(node, "declarator") else { return Descent::In };
    let found = function_declarator(declarator)
        .or_else(|| (declarator.kind() == "operator_cast").then_some(declarator));
    // Without parameters it is something that the parser took for a function, such as a macro before a class.
    match found.and_then(|declarator| add_function(walk, declarator, node)) {
        Some(function) => Descent::Within(function),
        None => Descent::In,
    }
}

/// Variables, and the constructors and the like that a class declares without a type. Other declarations of functions
/// define nothing.
fn declaration(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if walk.is_in_function() {
        return Descent::In;
    }
    let is_extern = children_text(walk, node, "storage_class_specifier", "extern");
    let mut cursor = node.walk();
    for declarator in node.children_by_field_name("declarator", &mut cursor) {
        if let Some(function) = function_declarator(declarator) {
            if walk.is_in_type() {
                add_function(walk, function, node);
            }
        } else if !is_extern
            && let Some((name, _)) = declared(declarator)
            && name.kind() != "operator_cast"
            && !is_attribute(walk, node, name)
        {
            let (scope, kind) = (scope(name), if walk.is_in_type() { Field } else { Variable });
            let variable = walk.add(kind, innermost(name), node);
            if let Some(scope) = scope {
                walk.member_of(variable, scope);
            }
        }
    }
    Descent::In
}

/// Whether a macro for the compiler stands where a variable might: `struct a { ... } __packed;`
fn is_attribute(walk: &Walk<'_>, node: Node<'_>, name: Node<'_>) -> bool {
    let defines_type = field(node, "type").is_some_and(|of| field(of, "body").is_some());
    defines_type && walk.text(name).starts_with("__") && !walk.text(name).ends_with("_t")
}

fn children_text(walk: &Walk<'_>, node: Node<'_>, kind: &str, text: &str) -> bool {
    child(node, kind).is_some_and(|child| walk.text(child) == text)
}

/// The fields and methods that one declaration in a type declares.
fn members(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let mut cursor = node.walk();
    for declarator in node.children_by_field_name("declarator", &mut cursor) {
        if let Some(function) = function_declarator(declarator) {
            add_function(walk, function, node);
        } else if let Some((name, _)) = declared(declarator)
            && !is_attribute(walk, node, name)
        {
            walk.add(Field, innermost(name), node);
        }
    }
    Descent::In
}

/// `namespace a::b` is the namespace `b`.
fn namespace(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(mut name) = field(node, "name") else { return Descent::In };
    while name.kind() == "nested_namespace_specifier" {
        let last =
            name.named_child_count().checked_sub(1).and_then(|last| name.named_child(last as u32));
        let Some(last) = last else { break };
        name = last;
    }
    Descent::Within(walk.add(Namespace, name, node))
}

/// Blanks macros for the compiler that do not parse.
fn macros(text: &mut Blanks) {
    class_macros(text);
    for_members(text);
}

/// `EXPORT bool name(`, `__alloc_size(1) void *name(`, and `DEPRECATED("...")` on a line of its own: macros before a
/// function. One that cannot be parsed costs all of a class. A macro is told by its capitals or the underscores before it
/// and, without parentheses, by two words after it, the type and the name.
fn for_members(text: &mut Blanks) {
    let all = text.text();
    let mut line = 0;
    while line < all.len() {
        let end = text.end_of(line, |byte| byte != b'\n');
        let mut at = text.end_of(line, |byte| matches!(byte, b' ' | b'\t'));
        let mut words: Vec<Range<usize>> = Vec::new();
        let is_in_macro = all[..line].ends_with("\\\n");
        while at < end && !is_in_macro {
            let mut after = text.end_of(at, is_word);
            if after == at {
                break;
            }
            // __alloc_size(1), but the grammar knows __attribute__((x)).
            let word = &all[at..after];
            let is_known = ["__attribute__", "__declspec", "__typeof__", "__asm__"].contains(&word);
            if word.starts_with("__") && text.byte(after) == b'(' && !is_known {
                after = text.after_parentheses(after).unwrap_or(after);
            }
            words.push(at..after);
            at = text.end_of(after, |byte| byte == b' ');
        }
        // What goes on is a part of the type: std::string, T<x>, int *. But A::b( is the name.
        let qualified = text.end_of(at, |byte| is_word(byte) || byte == b':');
        let goes_on =
            matches!(text.byte(at), b':' | b'<' | b'*' | b'&') && text.byte(qualified) != b'(';
        let followers = if goes_on { 1 } else { 2 };
        let is_macro = |word: &Range<usize>| {
            let word = &all[word.clone()];
            let has_capitals = word.len() > 3 && word.bytes().all(is_capital);
            word.contains('_')
                && (has_capitals || word.starts_with("__") && word != "__attribute__")
        };
        for word in &words[..words.len().saturating_sub(followers)] {
            if is_macro(word) {
                text.blank(word.clone());
            }
        }
        if let [word] = &*words
            && text.byte(word.end) == b'('
            && is_macro(word)
            && let Some(after) = text.after_parentheses(word.end)
            && text.byte(text.end_of(after, |byte| byte == b' ')) == b'\n'
        {
            // What a body or initializers follow is a function: TEST(a, b) {
            let next = text.end_of(after, |byte| byte.is_ascii_whitespace());
            if !matches!(text.byte(next), b'{' | b':' | b'(') {
                text.blank(word.start..after);
            }
        }
        line = end + 1;
    }
}

/// Whether a byte may stand in the name of a macro.
fn is_capital(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// `class EXPORT Name`: a macro before the name.
fn class_macros(text: &mut Blanks) {
    for word in ["class ", "struct "] {
        for at in text.find(word) {
            let begin = at + word.len();
            let end = text.end_of(begin, is_capital);
            let end = if text.byte(end) == b'(' {
                text.after_parentheses(end).unwrap_or(begin)
            } else {
                end
            };
            let name = text.end_of(end, |byte| byte == b' ');
            if name > end
                && end > begin + 1
                && !is_word(text.byte(at.wrapping_sub(1)))
                && is_word(text.byte(name))
            {
                let after = text.end_of(name, is_word);
                // class A final, but class EXPORT A.
                if text.text()[name..after] != *"final" {
                    text.blank(begin..end);
                }
            }
        }
    }
}

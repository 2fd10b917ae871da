//! C and C++.

mod conditionals;
mod heads;
mod scopes;
mod tokens;

use query::SymbolKind;
use query::SymbolKind::{
    Class, Constructor, Enum, EnumMember, Field, Function, Macro, Method, Namespace, Struct, Type,
    Union, Variable,
};
use tree_sitter::Node;

use crate::blanks::Blanks;
use crate::grammar::{Grammar, Neighbour, Rule, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

const MACRO: Rule = define("preproc_def", Macro);
const MACRO_FUNCTION: Rule = define("preproc_function_def", Macro);
const ENUMERATOR: Rule = define("enumerator", EnumMember);
const STRUCT: Rule = look("struct_specifier", |walk, node| specifier(walk, node, Struct));
const UNION: Rule = look("union_specifier", |walk, node| specifier(walk, node, Union));
const ENUM: Rule = look("enum_specifier", |walk, node| specifier(walk, node, Enum));
const TYPEDEF: Rule = look("type_definition", typedef);
const FUNCTION: Rule = look("function_definition", function);
// Definitions in a block of statements are local.
const BLOCK: Rule = look("compound_statement", |_, _| Descent::Local);
const DECLARATION: Rule = look("declaration", declaration);
const MEMBERS: Rule = look("field_declaration", members);

pub(crate) static C: Grammar = Grammar {
    names: &["c"],
    language: tree_sitter_c::LANGUAGE,
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
        BLOCK,
    ],
    skip: &["argument_list", "initializer_list", "preproc_arg", "preproc_include"],
    neighbour: Some(Neighbour { grammar: &CPP, signs: &["namespace ", "template", "class "] }),
    blank: Some(prepare),
    reserved: &reserved::C,
};

pub(crate) static CPP: Grammar = Grammar {
    names: &["c++", "arduino"],
    language: tree_sitter_cpp::LANGUAGE,
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
        BLOCK,
        look("class_specifier", |walk, node| specifier(walk, node, Class)),
        look("namespace_definition", namespace),
        define("alias_declaration", Type),
        define("concept_definition", Type),
        look("lambda_expression", |_, _| Descent::Local),
    ],
    skip: &[
        "argument_list",
        "initializer_list",
        "preproc_arg",
        "preproc_include",
        "template_parameter_list",
    ],
    neighbour: None,
    blank: Some(prepare),
    reserved: &reserved::CPP,
};

/// Blanks text that the grammar does not know: comments within macros, conditional groups that are not whole
/// statements, and macros before a name.
fn prepare(text: &mut Blanks) {
    let mut tokens = tokens::tokens(text);
    conditionals::flatten(&mut tokens, text);
    heads::blank_annotations(&tokens, text);
}

/// Defines a type with a body; without one it is a reference. A type without a name may have that of a `typedef`.
fn specifier(walk: &mut Walk<'_>, node: Node<'_>, kind: SymbolKind) -> Descent {
    if field(node, "body").is_none() {
        return Descent::Past;
    }
    let name = match field(node, "name") {
        Some(name) => return Descent::Within(walk.add_qualified(kind, name, node)),
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
    // A type defined in the `typedef` comes first: the name is that type's if it has no other.
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

/// Returns the name that a declarator declares, and whether it is wrapped: a function, a pointer, an array.
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

/// Returns the declarator of a function if a function is declared, which the text next to the name decides. So `int
/// (*pointer)(void)` is not a function, but `int (name)(void)` and `int (*name(int))(void)` are.
fn function_declarator(mut declarator: Node<'_>) -> Option<Node<'_>> {
    let mut function = None;
    loop {
        function = match declarator.kind() {
            "function_declarator" => Some(declarator),
            "parenthesized_declarator" | "attributed_declarator" => function,
            "pointer_declarator" | "reference_declarator" | "array_declarator" => None,
            "init_declarator" => return None,
            // operator bool()
            _ if innermost(declarator).kind() == "operator_cast" => return Some(declarator),
            _ => return function,
        };
        let last = || {
            let is_name = |child: &Node<'_>| {
                !matches!(child.kind(), "attribute_declaration" | "ms_call_modifier" | "comment")
            };
            declarator.named_children(&mut declarator.walk()).filter(is_name).last()
        };
        declarator = field(declarator, "declarator").or_else(last)?;
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

/// Adds a function or method by its declarator.
fn add_function(walk: &mut Walk<'_>, declarator: Node<'_>, node: Node<'_>) -> Option<usize> {
    let is_conversion = innermost(declarator).kind() == "operator_cast";
    let named = field(declarator, "declarator").filter(|_| !is_conversion);
    let (name, _) = declared(named.unwrap_or(declarator))?;
    let inner = innermost(name);
    let (path, last) =
        if inner == name { (Vec::new(), name.byte_range()) } else { walk.qualified(name, inner) };
    let around = walk.around_name().filter(|_| walk.is_in_type());
    let kind = match path.last().map(|of| &walk.text[of.clone()]).or(around) {
        None => Function,
        Some(of) if of == walk.text(inner) => Constructor,
        Some(_) => Method,
    };
    let mut end = last.end;
    if inner.kind() == "operator_cast" {
        // operator bool(): up to the parentheses.
        let mut of = field(inner, "declarator");
        while let Some(declarator) = of {
            if let Some(parameters) = field(declarator, "parameters") {
                end = parameters.start_byte();
                break;
            }
            of = field(declarator, "declarator").or_else(|| declarator.named_child(0));
        }
        end = last.start + walk.text[last.start..end].trim_end().len();
    }
    let row = inner.start_position().row;
    let function = walk.add_range(kind, last.start..end, row, node.end_byte());
    walk.member_of(function, path);
    Some(function)
}

fn function(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(declarator) = field(node, "declarator") else { return Descent::In };
    let found = function_declarator(declarator);
    // Without parameters, the parser mistook something for a function, such as a macro before a class.
    match found.and_then(|declarator| add_function(walk, declarator, node)) {
        Some(function) => Descent::Within(function),
        None => Descent::In,
    }
}

/// Defines variables, and constructors and the like, which a class declares without a type. Other declarations of
/// functions define nothing.
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
            && !is_attribute(walk, node, name)
        {
            let kind = if walk.is_in_type() { Field } else { Variable };
            walk.add_qualified(kind, name, node);
        }
    }
    Descent::In
}

/// Returns whether the name of a variable is really a macro for the compiler: `struct a { ... } __packed;`
fn is_attribute(walk: &Walk<'_>, node: Node<'_>, name: Node<'_>) -> bool {
    let defines_type = field(node, "type").is_some_and(|of| field(of, "body").is_some());
    defines_type && walk.text(name).starts_with("__") && !walk.text(name).ends_with("_t")
}

fn children_text(walk: &Walk<'_>, node: Node<'_>, kind: &str, text: &str) -> bool {
    child(node, kind).is_some_and(|child| walk.text(child) == text)
}

/// Defines the fields and methods of one declaration in a type.
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

/// `namespace a::b` are the namespaces `a` and `b`.
fn namespace(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    match field(node, "name") {
        Some(name) => Descent::Within(walk.add_path(Namespace, Namespace, name, node.end_byte())),
        None => Descent::In,
    }
}

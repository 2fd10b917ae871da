//! Finds tokens in texts that are not programs: tags, style sheets, settings and prose.

use crate::Class;
use crate::scan::{Scan, is_name, number};

/// Reads a part of a tag, or an entity.
pub(crate) fn tag(scan: &mut Scan<'_>) -> bool {
    let rest = scan.rest();
    let name = |text: &str| {
        text.bytes().take_while(|byte| is_name(*byte) || b"-:.@#*".contains(byte)).count()
    };
    if scan.carried.in_tag {
        if rest.starts_with('>') {
            scan.carried.in_tag = false;
            return false;
        }
        let length = name(rest);
        if length > 0 {
            // An unquoted value is a string, too.
            let is_value = scan.last == Some(b'=');
            scan.push(scan.at + length, if is_value { Class::String } else { Class::Function });
        }
        return length > 0;
    }
    if let Some(tag) = rest.strip_prefix('<') {
        let close = usize::from(tag.starts_with(['/', '?', '!']));
        let length = name(&tag[close..]);
        if length == 0 {
            return false;
        }
        scan.carried.in_tag = true;
        scan.at += 1 + close;
        scan.push(scan.at + length, Class::Keyword);
        return true;
    }
    if let Some(entity) = rest.strip_prefix('&') {
        let length = entity.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'#').count();
        if length > 0 && entity[length..].starts_with(';') {
            scan.push(scan.at + length + 2, Class::Constant);
            return true;
        }
        return false;
    }
    let ahead = rest.bytes().position(|byte| matches!(byte, b'<' | b'&'));
    scan.at += ahead.unwrap_or(rest.len());
    true
}

/// Reads a part of a style sheet.
pub(crate) fn style(scan: &mut Scan<'_>) -> bool {
    let rest = scan.rest();
    let Some(byte) = scan.byte(0) else { return false };
    let name = |text: &str| text.bytes().take_while(|byte| is_name(*byte) || *byte == b'-').count();
    // In braces, a property precedes the colon, and its value follows.
    let in_value = scan.carried.depth > 0 && scan.after_colon;
    match byte {
        b':' => scan.after_colon = true,
        b';' => scan.after_colon = false,
        b'{' => (scan.carried.depth, scan.after_colon) = (scan.carried.depth + 1, false),
        b'}' => {
            (scan.carried.depth, scan.after_colon) = (scan.carried.depth.saturating_sub(1), false);
        }
        b'@' => {
            scan.push(scan.at + 1 + name(&rest[1..]), Class::Keyword);
            return true;
        }
        b'#' if in_value => {
            scan.push(scan.at + 1 + name(&rest[1..]), Class::Constant);
            return true;
        }
        b'.' | b'#' | b'%' | b'$' if name(&rest[1..]) > 0 && !in_value => {
            scan.push(scan.at + 1 + name(&rest[1..]), Class::Function);
            return true;
        }
        b'0'..=b'9' => {
            number(scan);
            return true;
        }
        _ if is_name(byte) || byte == b'-' => {
            let length = name(rest).max(1);
            let after = rest[length..].trim_start();
            let end = scan.at + length;
            if scan.carried.depth > 0 && !in_value && after.starts_with(':') {
                scan.push(end, Class::Type);
            } else if rest[length..].starts_with('(') {
                scan.push(end, Class::Function);
            } else if scan.carried.depth == 0 && scan.last != Some(b':') {
                scan.push(end, Class::Keyword);
            } else {
                scan.at = end;
                scan.last = Some(byte);
            }
            return true;
        }
        _ => {}
    }
    false
}

/// Reads a value: a number, or a special word. Other words are text.
pub(crate) fn value(scan: &mut Scan<'_>) -> bool {
    let begins = scan.last.is_none_or(|last| b":=,-[{(".contains(&last));
    let whole = |byte: &u8| is_name(*byte) || b"-.+:/@".contains(byte);
    let length = scan.rest().bytes().take_while(whole).count();
    let Some(text) = scan.rest().get(..length).filter(|text| !text.is_empty()) else {
        return false;
    };
    let after = scan.rest()[length..].trim_start();
    let ends = after.is_empty() || after.starts_with([',', ']', '}', '#', ';']);
    let digits = text.trim_start_matches(['-', '+']);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || b"_.xo-:TZ".contains(&byte));
    let is_constant = is_number || scan.words.contains_key(text);
    let end = scan.at + length;
    if begins && ends && is_constant {
        scan.push(end, Class::Constant);
    } else {
        scan.at = end;
        scan.last = scan.before();
    }
    true
}

/// Reads a piece of code within prose.
pub(crate) fn prose(scan: &mut Scan<'_>) -> bool {
    let code = scan.rest().strip_prefix('`').and_then(|rest| rest.find('`'));
    match code {
        Some(length) => {
            scan.push(scan.at + length + 2, Class::String);
            true
        }
        // There is no other one in the line, so stop looking.
        None if scan.byte(0) == Some(b'`') => {
            scan.at = scan.line.len();
            true
        }
        None => {
            let next = scan.rest().bytes().position(|byte| matches!(byte, b'`' | b'<'));
            let ahead = next.unwrap_or(scan.rest().len());
            scan.at += ahead;
            ahead > 0
        }
    }
}

/// Reads a heading of prose.
pub(crate) fn heading(scan: &mut Scan<'_>) {
    let hashes = scan.line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) && scan.line[hashes..].starts_with(' ') {
        scan.push(scan.line.len(), Class::Keyword);
    }
}

/// Reads the key at the beginning of a line of YAML.
pub(crate) fn colon_key(scan: &mut Scan<'_>) {
    scan.spaces();
    while scan.rest().starts_with("- ") {
        scan.skip();
        scan.spaces();
    }
    let rest = scan.rest();
    let is_key = |at: &usize| {
        let after = rest[at + 1..].bytes().next();
        after.is_none_or(|byte| byte.is_ascii_whitespace())
    };
    let colon = rest.match_indices(':').map(|(at, _)| at).find(is_key);
    let Some(colon) = colon else { return };
    let key = &rest[..colon];
    let quoted = key.starts_with(['"', '\'']);
    if !quoted && !key.contains(" #") && !key.starts_with(['#', '{', '[', '&', '*', '!', '|', '>'])
    {
        scan.push(scan.at + colon, Class::Keyword);
    }
}

/// Reads the name of a section, or the key at the beginning of a line of TOML or of settings.
pub(crate) fn equation_key(scan: &mut Scan<'_>) {
    scan.spaces();
    let rest = scan.rest();
    if rest.starts_with('[') {
        let end = rest.rfind(']').map_or(rest.len(), |at| at + 1);
        return scan.push(scan.at + end, Class::Type);
    }
    let Some(equals) = rest.find('=') else { return };
    let key = rest[..equals].trim_end();
    let plain = |byte: u8| is_name(byte) || b" -.\"'/:*~<>!".contains(&byte);
    if !key.is_empty() && !key.starts_with(';') && key.bytes().all(plain) {
        scan.push(scan.at + key.len(), Class::Keyword);
    }
}

/// Reads the targets at the beginning of a line of a makefile.
pub(crate) fn target(scan: &mut Scan<'_>) {
    let line = scan.line;
    let Some(colon) = line.find(':') else { return };
    let is_rule = !line.starts_with([' ', '\t', '#']) && !line[..colon].contains(['=', '#']);
    if is_rule && !line[colon..].starts_with(":=") && !line[colon..].starts_with("::=") {
        scan.push(colon, Class::Function);
    }
}

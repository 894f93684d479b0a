//! Our JSON against the peer's `Debug` form.

use serde_json::Value;

use crate::debug_tree::Tree;

/// Fields that the peer calls by another name: ours, theirs. Those that are Rust's words have an
/// underscore somewhere there; that is left out of the comparison.
const OTHER_NAMES: [(&str, &str); 3] = [
    // An older schema's name for a number that newer groups read as a member epoch.
    ("generation_id_or_member_epoch", "generation_id"),
    ("kraft_version", "k_raft_version"),
    ("kraft_version_feature", "k_raft_version_feature"),
];

/// Says where the two differ. Fields that only the peer has are those of other versions.
pub(crate) fn same(path: &str, ours: &Value, theirs: &Tree) -> Result<(), String> {
    let differ = || Err(format!("{path} is {ours} here and {theirs:?} there"));
    match (ours, theirs) {
        (Value::Null, Tree::Word(word)) if word == "None" => Ok(()),
        (Value::Null, _) => differ(),
        (_, Tree::Wrapped(inside)) => same(path, ours, inside),
        (Value::Object(fields), Tree::Struct(others)) => {
            for (name, ours) in fields {
                let theirs = others.iter().find(|(other, _)| is_same_name(name, other));
                let path = format!("{path}.{name}");
                match theirs {
                    Some((_, theirs)) => same(&path, ours, theirs)?,
                    None => return Err(format!("{path} is not known there")),
                }
            }
            let empty = !fields.contains_key("_unknown_tags");
            match others
                .iter()
                .find(|(name, _)| name == "unknown_tagged_fields")
            {
                Some((_, Tree::Map(tags))) if empty && !tags.is_empty() => {
                    Err(format!("{path} has unknown tags there"))
                }
                _ => Ok(()),
            }
        }
        (Value::Object(tags), Tree::Map(others)) if tags.len() == others.len() => {
            for (tag, value) in others {
                let (Tree::Word(tag), Tree::Bytes(bytes)) = (tag, value) else {
                    return differ();
                };
                if tags.get(tag).and_then(Value::as_str) != Some(&hex::encode(bytes)) {
                    return differ();
                }
            }
            Ok(())
        }
        (Value::Array(ours), Tree::List(theirs)) if ours.len() == theirs.len() => {
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                same(&format!("{path}[{index}]"), ours, theirs)?;
            }
            Ok(())
        }
        (Value::String(ours), Tree::Text(theirs)) if ours == theirs => Ok(()),
        (Value::String(ours), Tree::Bytes(theirs)) if *ours == hex::encode(theirs) => Ok(()),
        // A UUID.
        (Value::String(ours), Tree::Word(theirs)) if ours == theirs => Ok(()),
        (Value::Bool(ours), Tree::Word(theirs)) if ours.to_string() == *theirs => Ok(()),
        (Value::Number(ours), Tree::Word(theirs)) => {
            let equal = match ours.as_i64() {
                Some(ours) => theirs.parse() == Ok(ours),
                None => theirs.parse().ok() == ours.as_f64(),
            };
            if equal { Ok(()) } else { differ() }
        }
        _ => differ(),
    }
}

fn is_same_name(ours: &str, theirs: &str) -> bool {
    let theirs = theirs.trim_start_matches("r#").trim_matches('_');
    theirs == ours
        || OTHER_NAMES.contains(&(ours, theirs))
        || (ours == "_unknown_tags" && theirs == "unknown_tagged_fields")
}

#[test]
fn differences_are_found() {
    let tree = crate::debug_tree::parse("A { a: 1, b: 2, c: Some(\"x\"), d: [b\"\\x01\"] }");
    let tree = tree.expect("a Debug form");
    let check = |json: Value| same("A", &json, &tree);
    assert_eq!(
        check(serde_json::json!({"a": 1, "b": 2, "c": "x", "d": ["01"]})),
        Ok(())
    );
    for wrong in [
        serde_json::json!({"a": 2, "b": 1}),
        serde_json::json!({"e": 1}),
        serde_json::json!({"c": null}),
        serde_json::json!({"c": "y"}),
        serde_json::json!({"d": []}),
        serde_json::json!({"d": ["02"]}),
        serde_json::json!({"a": true}),
    ] {
        assert!(check(wrong.clone()).is_err(), "{wrong}");
    }
}

//! Reads what `#[derive(Debug)]` writes.

use std::iter::Peekable;
use std::str::Chars;

/// A value as its `Debug` form shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    /// `Name { field: value }`
    Struct(Vec<(String, Tree)>),
    /// `Name(value)`; the name is that of `Some` or of a newtype.
    Wrapped(Box<Tree>),
    /// `[value, value]`
    List(Vec<Tree>),
    /// `{key: value}`
    Map(Vec<(Tree, Tree)>),
    /// `"text"`
    Text(String),
    /// `b"bytes"`
    Bytes(Vec<u8>),
    /// Anything else: a number, a word, an id.
    Word(String),
}

pub(crate) fn parse(text: &str) -> Result<Tree, String> {
    let mut parser = Parser {
        rest: text.chars().peekable(),
    };
    let tree = parser.value()?;
    match parser.peek() {
        None => Ok(tree),
        Some(character) => Err(format!("`{character}` behind the value")),
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    /// The next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if_eq(&' ').is_some() {}
        self.rest.peek().copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest.next();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(format!("expected `{wanted}`, found {:?}", self.rest.peek()))
        }
    }

    fn value(&mut self) -> Result<Tree, String> {
        match self.peek() {
            Some('[') => self.list('[', ']').map(Tree::List),
            Some('{') => self.map(),
            Some('"') => {
                let bytes = self.quoted()?;
                String::from_utf8(bytes)
                    .map(Tree::Text)
                    .map_err(|error| error.to_string())
            }
            _ => self.word_or_struct(),
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        self.peek();
        while let Some(character) = self
            .rest
            .next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '#'))
        {
            word.push(character);
        }
        word
    }

    fn word_or_struct(&mut self) -> Result<Tree, String> {
        let word = self.word();
        match self.rest.peek().copied() {
            Some('"') if word == "b" => self.quoted().map(Tree::Bytes),
            Some('(') => {
                let mut inside = self.list('(', ')')?;
                match (inside.pop(), inside.is_empty()) {
                    (Some(inside), true) => Ok(Tree::Wrapped(Box::new(inside))),
                    _ => Err(format!("`{word}` holds more than one value")),
                }
            }
            Some(' ') if !word.is_empty() && self.peek() == Some('{') => self.fields(),
            _ if word.is_empty() => Err(format!("no value at {:?}", self.rest.peek())),
            _ => Ok(Tree::Word(word)),
        }
    }

    fn list(&mut self, open: char, close: char) -> Result<Vec<Tree>, String> {
        self.expect(open)?;
        let mut values = Vec::new();
        while !self.take(close) {
            values.push(self.value()?);
            if !self.take(',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(values)
    }

    fn fields(&mut self) -> Result<Tree, String> {
        self.expect('{')?;
        let mut fields = Vec::new();
        while !self.take('}') {
            let name = self.word();
            self.expect(':')?;
            fields.push((name, self.value()?));
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Tree::Struct(fields))
    }

    fn map(&mut self) -> Result<Tree, String> {
        self.expect('{')?;
        let mut entries = Vec::new();
        while !self.take('}') {
            let key = self.value()?;
            self.expect(':')?;
            entries.push((key, self.value()?));
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Tree::Map(entries))
    }

    /// What stands between quotation marks, escapes resolved.
    fn quoted(&mut self) -> Result<Vec<u8>, String> {
        self.expect('"')?;
        let mut bytes = Vec::new();
        loop {
            let character = self.rest.next().ok_or("the text ends inside quotes")?;
            match character {
                '"' => return Ok(bytes),
                '\\' => self.escape(&mut bytes)?,
                _ => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        match self.rest.next() {
            Some('n') => bytes.push(b'\n'),
            Some('r') => bytes.push(b'\r'),
            Some('t') => bytes.push(b'\t'),
            Some('0') => bytes.push(0),
            Some('x') => {
                let digits: String = self.rest.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).map_err(|error| error.to_string())?);
            }
            Some('u') => {
                self.expect('{')?;
                let digits = self.word();
                self.expect('}')?;
                let character = u32::from_str_radix(&digits, 16)
                    .ok()
                    .and_then(char::from_u32);
                let character = character.ok_or("no such character")?;
                bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
            }
            Some(plain @ ('"' | '\\' | '\'')) => bytes.extend(plain.to_string().bytes()),
            other => return Err(format!("unknown escape {other:?}")),
        }
        Ok(())
    }
}

#[test]
fn debug_forms_are_read() {
    #[derive(Debug)]
    #[expect(dead_code, reason = "only its text counts")]
    struct Sample {
        number: i32,
        text: Option<String>,
        list: Vec<(u8,)>,
        map: std::collections::BTreeMap<i32, bytes::Bytes>,
    }

    let sample = Sample {
        number: -5,
        text: Some("a \"b\" \\ \u{1f980} \u{1}\n".to_owned()),
        list: vec![],
        map: [(7, bytes::Bytes::from_static(b"\x00\xff\"a\\"))].into(),
    };
    let tree = parse(&format!("{sample:?}")).expect("a Debug form");
    let field = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        tree,
        Tree::Struct(vec![
            field("number", Tree::Word("-5".to_owned())),
            field(
                "text",
                Tree::Wrapped(Box::new(Tree::Text(
                    "a \"b\" \\ \u{1f980} \u{1}\n".to_owned()
                )))
            ),
            field("list", Tree::List(vec![])),
            field(
                "map",
                Tree::Map(vec![(
                    Tree::Word("7".to_owned()),
                    Tree::Bytes(b"\x00\xff\"a\\".to_vec())
                )])
            ),
        ])
    );
    assert!(parse("Open { a: [1, 2 }").is_err());
}

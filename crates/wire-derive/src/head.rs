//! [`Head`]: what the attribute on a message's struct says.

use syn::{DeriveInput, Expr, ExprLit, Lit};

use crate::attributes::{self, Part, is_word};
use crate::range::Versions;

/// What kind of message it is; the numbers are API keys or record types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Request(i16),
    Response(i16),
    Header,
    Data,
    CoordinatorKey(i16),
    CoordinatorValue(i16),
    MetadataRecord(i16),
}

/// The attribute on a message's struct.
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) versions: Versions,
    pub(crate) flexible: Option<i16>,
    pub(crate) latest_unstable: bool,
    pub(crate) broker: bool,
    pub(crate) controller: bool,
}

impl Head {
    pub(crate) fn parse(input: &DeriveInput) -> syn::Result<Self> {
        let name = &input.ident;
        let parts = attributes::parts(&input.attrs)?;
        let missing = |what: &str| syn::Error::new_spanned(name, what.to_owned());
        let mut kind = None;
        let mut versions = None;
        let mut flexible = None;
        let mut latest_unstable = false;
        let mut listeners = None;
        for part in &parts {
            match part.name.to_string().as_str() {
                "versions" => versions = Some(message_versions(part)?),
                "flexible" => flexible = Some(first_flexible(part)?),
                "latest_unstable" => {
                    part.flag()?;
                    latest_unstable = true;
                }
                "listeners" => listeners = Some(part),
                _ => {
                    if kind.replace(parse_kind(part)?).is_some() {
                        return Err(part.error("a message is of one kind only"));
                    }
                }
            }
        }
        let kind = kind.ok_or_else(|| {
            missing("say what this is, such as `#[wire(request(15), versions = 0..=6, ..)]`")
        })?;
        let versions = versions.ok_or_else(|| missing("`versions = ..` is missing"))?;
        check_name(input, kind)?;
        let (broker, controller) = match (kind, listeners) {
            (Kind::Request(_), Some(part)) => parse_listeners(part)?,
            (Kind::Request(_), None) => return Err(missing("`listeners(..)` is missing")),
            (_, Some(part)) => return Err(part.error("only requests have listeners")),
            (_, None) => (false, false),
        };
        if let Some(first) = flexible
            && versions.max.is_some_and(|max| first > max)
        {
            return Err(missing("no version is flexible: leave `flexible` out"));
        }
        Ok(Self {
            kind,
            versions,
            flexible,
            latest_unstable,
            broker,
            controller,
        })
    }
}

fn parse_kind(part: &Part) -> syn::Result<Kind> {
    let make: fn(i16) -> Kind = match part.name.to_string().as_str() {
        "header" => return part.flag().map(|()| Kind::Header),
        "data" => return part.flag().map(|()| Kind::Data),
        "request" => Kind::Request,
        "response" => Kind::Response,
        "coordinator_key" => Kind::CoordinatorKey,
        "coordinator_value" => Kind::CoordinatorValue,
        "metadata_record" => Kind::MetadataRecord,
        other => {
            return Err(part.error(format!(
                "`{other}` is unknown here; a message has one of `request(K)`, `response(K)`, \
                 `header`, `data`, `coordinator_key(K)`, `coordinator_value(K)`, \
                 `metadata_record(K)`, then `versions`, `flexible`, `latest_unstable`, `listeners`"
            )));
        }
    };
    let [
        Expr::Lit(ExprLit {
            lit: Lit::Int(key), ..
        }),
    ] = part.list()?
    else {
        return Err(part.error(format!("expected one number: `{}(15)`", part.name)));
    };
    key.base10_parse().map(make)
}

fn message_versions(part: &Part) -> syn::Result<Versions> {
    let expr = part.expr()?;
    let versions = Versions::parse(expr)?;
    if versions.max.is_none() {
        return Err(syn::Error::new_spanned(
            expr,
            "a message has a highest version: write `0..=6`",
        ));
    }
    Ok(versions)
}

fn first_flexible(part: &Part) -> syn::Result<i16> {
    let expr = part.expr()?;
    match Versions::parse(expr)? {
        Versions { min, max: None } => Ok(min),
        Versions { .. } => Err(syn::Error::new_spanned(
            expr,
            "flexible versions have no end: write `5..`",
        )),
    }
}

fn parse_listeners(part: &Part) -> syn::Result<(bool, bool)> {
    let list = part.list()?;
    let (mut broker, mut controller) = (false, false);
    for word in list {
        if is_word(word, "broker") {
            broker = true;
        } else if is_word(word, "controller") {
            controller = true;
        } else {
            return Err(syn::Error::new_spanned(
                word,
                "a listener is `broker` or `controller`",
            ));
        }
    }
    if list.is_empty() {
        return Err(part.error("say which listeners serve it: `broker`, `controller`"));
    }
    Ok((broker, controller))
}

/// The name's ending must be that of the kind: the pair of a request is found by name.
fn check_name(input: &DeriveInput, kind: Kind) -> syn::Result<()> {
    let ending = match kind {
        Kind::Request(_) => "Request",
        Kind::Response(_) => "Response",
        _ => return Ok(()),
    };
    if input.ident.to_string().ends_with(ending) {
        return Ok(());
    }
    Err(syn::Error::new_spanned(
        &input.ident,
        format!("the name must end with `{ending}`"),
    ))
}

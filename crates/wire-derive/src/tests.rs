//! Wrong attributes and what is said about them.

use syn::{DeriveInput, parse_quote};

use crate::schema::Schema;

#[track_caller]
fn message_error(input: &DeriveInput) -> String {
    match Schema::of_message(input) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn field_error(field: &syn::Field) -> String {
    let input: DeriveInput = parse_quote! {
        struct Nested {
            #field
            , unknown_tags: UnknownTags,
        }
    };
    match Schema::of_struct(&input) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_good_message_is_accepted() {
    let input: DeriveInput = parse_quote! {
        #[wire(request(15), versions = 0..=6, flexible = 5.., latest_unstable, listeners(broker))]
        struct SomeRequest {
            #[wire(versions = 1..=4, ignorable)]
            old: i32,
            #[wire(versions = 5.., nullable = 6.., tag = 3, default = None)]
            tagged: Option<ByteString>,
            unknown_tags: UnknownTags,
        }
    };
    let schema = Schema::of_message(&input).expect("good");
    assert_eq!(schema.fields.len(), 2);
    assert_eq!(schema.tagged().len(), 1);
}

#[test]
fn a_message_says_what_it_is() {
    let error = message_error(&parse_quote! {
        #[wire(versions = 0..=1)]
        struct Nameless {}
    });
    assert!(error.starts_with("say what this is"), "{error}");
    let error = message_error(&parse_quote! {
        #[wire(request(1), data, versions = 0..=1, listeners(broker))]
        struct BothRequest {}
    });
    assert_eq!(error, "a message is of one kind only");
    let error = message_error(&parse_quote! {
        #[wire(reqest(1), versions = 0..=1)]
        struct Misspelt {}
    });
    assert!(error.starts_with("`reqest` is unknown here"), "{error}");
    let error = message_error(&parse_quote! {
        #[wire(response, versions = 0..=1)]
        struct SomeResponse {}
    });
    assert_eq!(error, "expected `response(..)`");
    let error = message_error(&parse_quote! {
        #[wire(response(1, 2), versions = 0..=1)]
        struct SomeResponse {}
    });
    assert_eq!(error, "expected one number: `response(15)`");
    let error = message_error(&parse_quote! {
        #[wire(response(1), versions = 0..=1)]
        struct SomeAnswer {}
    });
    assert_eq!(error, "the name must end with `Response`");
}

#[test]
fn versions_are_checked() {
    let error = |versions: syn::Expr| {
        message_error(&parse_quote! {
            #[wire(data, versions = #versions)]
            struct Some {}
        })
    };
    assert_eq!(
        error(parse_quote!(0..)),
        "a message has a highest version: write `0..=6`"
    );
    assert_eq!(
        error(parse_quote!(0..6)),
        "both ends of a version range are inclusive: write `..=`"
    );
    assert_eq!(
        error(parse_quote!(6..=3)),
        "this range is empty: 6 is above 3"
    );
    assert!(error(parse_quote!("x")).starts_with("expected versions such as"));
    assert!(error(parse_quote!(x)).starts_with("expected versions such as"));
    let error = message_error(&parse_quote! {
        #[wire(data)]
        struct Some {}
    });
    assert_eq!(error, "`versions = ..` is missing");
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1, versions = 0..=2)]
        struct Some {}
    });
    assert_eq!(error, "`versions` is given twice");
}

#[test]
fn flexible_versions_and_unknown_tags_go_together() {
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1, flexible = 1..)]
        struct Some {}
    });
    assert_eq!(
        error,
        "a message with flexible versions ends with `unknown_tags: UnknownTags`"
    );
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1)]
        struct Some { unknown_tags: UnknownTags }
    });
    assert_eq!(
        error,
        "a message without flexible versions has no `unknown_tags`"
    );
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1, flexible = 2..)]
        struct Some { unknown_tags: UnknownTags }
    });
    assert_eq!(error, "no version is flexible: leave `flexible` out");
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1, flexible = 1..=1)]
        struct Some { unknown_tags: UnknownTags }
    });
    assert_eq!(error, "flexible versions have no end: write `5..`");
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1, flexible = 1..)]
        struct Some { unknown_tags: UnknownTags, late: i8 }
    });
    assert_eq!(error, "`unknown_tags` must be the last field");
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1, flexible = 1..)]
        struct Some { tags: UnknownTags }
    });
    assert_eq!(
        error,
        "the field `unknown_tags` and the type `UnknownTags` belong together"
    );
}

#[test]
fn only_requests_have_listeners_and_they_need_them() {
    let error = message_error(&parse_quote! {
        #[wire(request(1), versions = 0..=1)]
        struct SomeRequest {}
    });
    assert_eq!(error, "`listeners(..)` is missing");
    let error = message_error(&parse_quote! {
        #[wire(response(1), versions = 0..=1, listeners(broker))]
        struct SomeResponse {}
    });
    assert_eq!(error, "only requests have listeners");
    let error = message_error(&parse_quote! {
        #[wire(request(1), versions = 0..=1, listeners(zookeeper))]
        struct SomeRequest {}
    });
    assert_eq!(error, "a listener is `broker` or `controller`");
    let error = message_error(&parse_quote! {
        #[wire(request(1), versions = 0..=1, listeners())]
        struct SomeRequest {}
    });
    assert!(error.starts_with("say which listeners serve it"), "{error}");
}

#[test]
fn options_and_null_go_together() {
    let error = field_error(&parse_quote!(text: Option<ByteString>));
    assert!(
        error.starts_with("an `Option` needs the versions"),
        "{error}"
    );
    let error = field_error(&parse_quote!(#[wire(nullable = 3..)] text: ByteString));
    assert_eq!(error, "a nullable field is an `Option`");
    let error = field_error(&parse_quote!(#[wire(default = None)] text: ByteString));
    assert_eq!(error, "only a nullable field can default to `None`");
}

#[test]
fn field_attributes_are_checked() {
    let error = field_error(&parse_quote!(#[wire(version = 3..)] field: i8));
    assert!(
        error.starts_with("`version` is unknown here; a field has"),
        "{error}"
    );
    let error = field_error(&parse_quote!(#[wire(ignorable = true)] field: i8));
    assert_eq!(error, "`ignorable` stands alone");
    let error = field_error(&parse_quote!(#[wire(versions)] field: i8));
    assert_eq!(error, "expected `versions = ..`");
    let error = field_error(&parse_quote!(#[wire(flexible = 3..)] field: ByteString));
    assert_eq!(error, "only `flexible = none` is known here");
    let error = field_error(&parse_quote!(#[wire(tagged = 3..)] field: i8));
    assert_eq!(error, "`tagged` needs a `tag = N`");
    let error = field_error(&parse_quote!(#[wire(tag = x)] field: i8));
    assert_eq!(error, "a tag is a plain number");
}

#[test]
fn tags_are_checked() {
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=2, flexible = 1..)]
        struct Some {
            #[wire(versions = 1.., tag = 0)]
            one: i8,
            #[wire(versions = 1.., tag = 0)]
            other: i8,
            unknown_tags: UnknownTags,
        }
    });
    assert_eq!(error, "tag 0 is taken by an earlier field");
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=2, flexible = 1..)]
        struct Some { #[wire(tag = 0)] one: i8, unknown_tags: UnknownTags }
    });
    assert_eq!(error, "tagged in version 0, which is not flexible");
    let error = field_error(&parse_quote!(#[wire(tag = 0, tagged = 1..=2)] field: i8));
    assert_eq!(
        error,
        "the tagged versions of a field are the last ones of its versions"
    );
    let input: DeriveInput = parse_quote! {
        struct Nested { #[wire(tag = 0)] field: i8 }
    };
    let error = Schema::of_struct(&input)
        .err()
        .map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some("a struct with tagged fields ends with `unknown_tags: UnknownTags`")
    );
}

#[test]
fn only_plain_structs_are_messages() {
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1)]
        enum Some { One }
    });
    assert_eq!(error, "only structs are messages");
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1)]
        struct Some(i8);
    });
    assert!(
        error.starts_with("a message is a struct with named fields"),
        "{error}"
    );
    let error = message_error(&parse_quote! {
        #[wire(data, versions = 0..=1)]
        struct Some<T> { field: T }
    });
    assert_eq!(error, "messages have no type parameters");
    let input: DeriveInput = parse_quote! {
        #[wire(data, versions = 0..=1)]
        struct Nested { field: i8 }
    };
    let error = Schema::of_struct(&input)
        .err()
        .map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("takes its versions from the message")));
}

//! What is RE2, and what it matches.

use super::translate;

#[test]
fn patterns_are_those_of_re2() {
    for good in [
        "^[a-z_]+$",
        r"\d+",
        "[[:alpha:]]",
        "[[:^alpha:]x]",
        "a|b",
        "(?i)x",
        "(?i:x)",
        "(?s-m:.)",
        "(?U)a*",
        "^$",
        "",
        "a-b--c",
        r"[\-a]",
        r"^[\w.-]{1,253}$",
        r"^\(?=x",
        "[[]",
        "[]a]",
        "[^]a]",
        "[a[b]",
        "[&]",
        "[+--]",
        r"[\d-z]",
        "a{1000}",
        "(a{10}){100}",
        "a{,3}",
        "a{x}",
        "{{x}}",
        r"\${a}",
        r"\<a\>",
        r"\Qa.b(\E+",
        r"\pL",
        r"\p{Greek}",
        r"\P{^Lu}",
        r"\p{Thai}",
        r"\x41",
        r"\x{1F600}",
        r"\101",
        r"\0",
        r"\_",
        r"\/",
        r"\-",
        "(?P<n_1>a)",
        r"\bx\B",
        r"\Aa\z",
        "a*?",
        "(a*)*",
        r"[\x00-\x1f]",
        "é+",
        r"[\]\\]",
        r"\ ",
    ] {
        assert!(translate(good).is_ok(), "{good}: {:?}", translate(good));
    }
    for bad in [
        "(?=a)",
        "(?!a)",
        "(?<!a)b",
        "(?<=a)b",
        r"(a)\1",
        r"\9",
        "(",
        ")",
        "a{2,1}",
        "a{1001}",
        "(a{100}){11}",
        "a{2000,}",
        "(?x) a",
        "(?u)a",
        "(?-u:a)",
        "(?R)a",
        r"\u0041",
        r"\U00000041",
        r"\p{Script=Greek}",
        r"\p{Grek}",
        r"\p{Letter}",
        r"\p{Alphabetic}",
        r"\p{greek}",
        r"\p{",
        "(?<n>a)",
        "(?P<n.x>a)",
        "a**",
        "a+*",
        "a{2}{3}",
        "*",
        "[z-a]",
        "[a-z&&[^b]]",
        "[a-z--[b]]",
        "[a~~b]",
        "[a",
        "[]",
        r"[a-\d]",
        "[[:foo:]]",
        r"[\b]",
        r"\Z",
        r"\e",
        r"\y",
        r"\x4",
        r"\",
    ] {
        assert!(translate(bad).is_err(), "{bad}: {:?}", translate(bad));
    }
}

#[test]
fn a_translation_matches_as_go_does() {
    for (pattern, matching, other) in [
        (r"^\d$", "5", "٥"),
        (r"^[\w-]$", "-", "é"),
        ("^[a&b]+$", "&", "c"),
        ("^[[]+$", "[[", "]"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        ("^{a}$", "{a}", "a"),
        (r"^[^\s]$", "\u{a0}", "\t"),
        ("^[+--]+$", "+,-", "."),
        (r"^\<$", "<", "a"),
        (r"^\101$", "A", "a"),
    ] {
        let compiled = regex::Regex::new(&translate(pattern).unwrap()).unwrap();
        assert!(compiled.is_match(matching), "{pattern} is {compiled}");
        assert!(!compiled.is_match(other), "{pattern} is {compiled}");
    }
}

//! A name in a stub, written with its path.

use proc_macro2::{Spacing, TokenStream, TokenTree};

/// The text with `module::name` for each `name` that is a path of its own; text that is no Rust stays as it is.
pub(super) fn qualify(text: &str, module: &str, name: &str) -> String {
    let Ok(tokens) = text.parse::<TokenStream>() else {
        return text.to_owned();
    };
    let mut places = Vec::new();
    collect(tokens, name, &mut places);
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    // From the end, so that earlier places stay where they are.
    for (line, column) in places.into_iter().rev() {
        if let Some(line) = lines.get_mut(line - 1) {
            let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
            line.insert_str(at, &format!("{module}::"));
        }
    }
    lines.join("\n")
}

fn collect(tokens: TokenStream, name: &str, places: &mut Vec<(usize, usize)>) {
    let mut is_free = true;
    let mut is_half_a_path = false;
    for token in tokens {
        let mut colon = false;
        match token {
            TokenTree::Ident(ident) => {
                if is_free && ident == name {
                    let start = ident.span().start();
                    places.push((start.line, start.column));
                }
                is_free = ident != "fn";
            }
            TokenTree::Group(group) => {
                collect(group.stream(), name, places);
                is_free = true;
            }
            TokenTree::Punct(punct) => {
                colon = punct.as_char() == ':' && punct.spacing() == Spacing::Joint;
                is_free = punct.as_char() != '.' && !(is_half_a_path && punct.as_char() == ':');
            }
            TokenTree::Literal(_) => is_free = true,
        }
        is_half_a_path = colon;
    }
}

#[cfg(test)]
mod tests {
    use super::qualify;

    #[test]
    fn only_names_that_stand_alone_are_replaced() {
        let text = "/// An X.\nfn X(X { x, .. }: X<Y>) -> Vec<X> {\n    y::X; z.X; X::new(\"X\")\n}";
        let full = "/// An X.\nfn X(m::X { x, .. }: m::X<Y>) -> Vec<m::X> {\n    y::X; z.X; m::X::new(\"X\")\n}";
        assert_eq!(qualify(text, "m", "X"), full);
    }
}

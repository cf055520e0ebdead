//! Lints which a spec can trip although nothing is wrong with it; only where they may, the code says so.

use std::f64::consts;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{GenericArgument, PathArguments, Type};

/// Somewhat below clippy's limit of 250, so that its way of counting may change a bit.
const COMPLEX: usize = 200;

/// For items whose type is nested deeply.
pub(super) fn allow_complex(rust: &TokenStream) -> Option<TokenStream> {
    is_complex(rust).then(|| quote!(#[allow(clippy::type_complexity, reason = "as deep as in the spec")]))
}

/// The same for text.
pub(super) fn allow_complex_text(rust: &str) -> Option<&'static str> {
    let is_complex = rust.parse().is_ok_and(|rust| is_complex(&rust));
    is_complex.then_some("#[allow(clippy::type_complexity, reason = \"as deep as in the spec\")]")
}

fn is_complex(rust: &TokenStream) -> bool {
    syn::parse2(rust.clone()).is_ok_and(|rust| complexity(&rust, 1) > COMPLEX)
}

/// As clippy counts: ten for each type, times its depth.
fn complexity(rust: &Type, depth: usize) -> usize {
    let Type::Path(path) = rust else { return 0 };
    let mut sum = 10 * depth;
    for segment in &path.path.segments {
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
            continue;
        };
        for argument in &arguments.args {
            if let GenericArgument::Type(inner) = argument {
                sum += complexity(inner, depth + 1);
            }
        }
    }
    sum
}

/// For text whose numbers may be taken for one of the constants of mathematics.
pub(super) const ALLOW_CONSTANTS: &str = "#[allow(clippy::approx_constant, reason = \"the spec's own value\")]";

/// For values which may be taken for one of the constants of mathematics.
pub(super) fn allow_constants(value: &TokenStream) -> Option<TokenStream> {
    let allow = || quote!(#[allow(clippy::approx_constant, reason = "the spec's own value")]);
    has_constant(value.clone()).then(allow)
}

fn has_constant(value: TokenStream) -> bool {
    value.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_constant(group.stream()),
        TokenTree::Literal(literal) => {
            let number: Option<f64> = literal.to_string().parse().ok();
            number.is_some_and(|number| CONSTANTS.iter().any(|constant| (number - constant).abs() < 0.01))
        }
        TokenTree::Ident(_) | TokenTree::Punct(_) => false,
    })
}

/// All that clippy knows.
const CONSTANTS: [f64; 21] = [
    consts::E,
    consts::FRAC_1_PI,
    consts::FRAC_1_SQRT_2,
    consts::FRAC_2_PI,
    consts::FRAC_2_SQRT_PI,
    consts::FRAC_PI_2,
    consts::FRAC_PI_3,
    consts::FRAC_PI_4,
    consts::FRAC_PI_6,
    consts::FRAC_PI_8,
    consts::LN_2,
    consts::LN_10,
    consts::LOG10_2,
    consts::LOG10_E,
    consts::LOG2_10,
    consts::LOG2_E,
    consts::PI,
    consts::SQRT_2,
    consts::TAU,
    // The golden ratio and Euler's constant.
    1.618_033_988_749_895,
    0.577_215_664_901_532_9,
];

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::{allow_complex_text, allow_constants};

    #[test]
    fn only_what_may_trip_a_lint_is_allowed() {
        assert!(allow_constants(&quote!(vec![json!({"a": -3.14})])).is_some());
        assert!(allow_constants(&quote!(0.5)).is_none());
        assert!(allow_complex_text("Vec<Vec<Vec<Vec<Vec<Vec<i64>>>>>>").is_some());
        assert!(allow_complex_text("Option<Vec<BTreeMap<String, Vec<bool>>>>").is_none());
    }
}

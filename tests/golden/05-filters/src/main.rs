//! Runs the operator.

use std::process::ExitCode;

use shelver::generated;

fn main() -> ExitCode {
    generated::operator().main()
}

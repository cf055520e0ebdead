//! Runs the operator.

use std::process::ExitCode;

use bucketeer::generated;

fn main() -> ExitCode {
    generated::operator().main()
}

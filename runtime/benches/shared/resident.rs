//! What a process occupies.

use std::error::Error;

/// The resident set in bytes of a process, by its number or as `self`.
pub(crate) fn resident(process: &str) -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kibibytes
        .ok_or("this system does not tell the resident set")?
        .parse::<usize>()?
        * 1024)
}

//! Lists every embedded file, so that none is missed when one is added.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("embedded");
    let mut files = Vec::new();
    collect(&root, "", &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for (name, path) in files {
        writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string()).expect("a String takes all");
    }
    text.push_str("]\n");
    fs::write(
        Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("embedded.rs"),
        text,
    )
}

/// Links are followed, since they are the point of the folder.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else {
            assert!(path.is_file(), "{} is a broken link", path.display());
            files.push((name, path));
        }
    }
    Ok(())
}

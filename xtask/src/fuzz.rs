//! `cargo xtask fuzz`: libFuzzer on stable Rust, by the coverage flags alone.

use std::path::Path;
use std::process::Command;

use crate::run_with;

/// One for each parser; each is a file in `fuzz/targets` and a directory in `fuzz/seeds`.
const TARGETS: &[&str] = &["markdown", "yaml", "json", "toml", "pair", "rule"];

/// What cargo-fuzz passes too, less the sanitizers that need a nightly compiler.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks";

/// Builds the targets and runs one or all of them.
pub(crate) fn run_targets(targets: &[&str], seconds: u64) -> Result<(), String> {
    // Named even though it is the host: the flags must not reach build scripts.
    let host = host()?;
    let place = ["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target/fuzz", "--target", &host];
    run_with("cargo", &[&["build", "--locked", "--release"], &place[..]].concat(), &[("RUSTFLAGS", FLAGS)])?;
    for target in targets {
        let found = format!("target/fuzz/corpus/{target}");
        std::fs::create_dir_all(&found).map_err(|error| format!("{found}: {error}"))?;
        let time = format!("-max_total_time={seconds}");
        let artifacts = format!("-artifact_prefix=target/fuzz/{target}-");
        let seeds = format!("fuzz/seeds/{target}");
        let binary = format!("target/fuzz/{host}/release/{target}");
        let limits =
            ["-max_len=8192", "-timeout=5", "-rss_limit_mb=1024", "-verbosity=0", "-print_final_stats=1"];
        let arguments = [&[found.as_str(), &seeds, &time, &artifacts], &limits[..]].concat();
        run_with(&binary, &arguments, &[])?;
    }
    Ok(())
}

/// Reads the arguments and runs.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    if !Path::new("fuzz/Cargo.toml").exists() {
        return Err("run it from the root of the repository".to_owned());
    }
    match arguments {
        [] => run_targets(TARGETS, 10),
        ["--seconds", seconds] => run_targets(TARGETS, number(seconds)?),
        [target] if TARGETS.contains(target) => run_targets(&[target], 10),
        [target, "--seconds", seconds] if TARGETS.contains(target) => {
            run_targets(&[target], number(seconds)?)
        }
        _ => Err(format!("usage: cargo xtask fuzz [{}] [--seconds N]", TARGETS.join(" | "))),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))
}

/// The triple of the machine, as the compiler names it.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not say what host it is for".to_owned())
}

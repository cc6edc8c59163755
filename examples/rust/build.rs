//! Makes the client from the contract, as cargo builds it.

use std::{error::Error, fs, io};

const CONTRACT: &str = "../../contract";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={CONTRACT}");
    let files = fs::read_dir(format!("{CONTRACT}/quire/v1"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    let mut config = tonic_prost_build::Config::new();
    // Without this line, the protoc on the path is taken.
    config.protoc_executable(protoc_bin_vendored::protoc_bin_path()?);
    let client = tonic_prost_build::configure().build_server(false);
    client.compile_with_config(config, &files, &[CONTRACT.into()])?;
    Ok(())
}

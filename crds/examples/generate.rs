//! Writes the CRDs as YAML into the folder of this crate.

use std::{fs, path::Path};

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, text) in armadex_crds::files() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

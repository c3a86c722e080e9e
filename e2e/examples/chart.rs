//! Writes what of the chart is generated.

use std::fs;

use anyhow::Result;
use armadex_e2e::chart;

fn main() -> Result<()> {
    for path in chart::stale()? {
        fs::remove_file(path)?;
    }
    for (path, text) in chart::generated()? {
        if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            fs::write(path, text)?;
        }
    }
    Ok(())
}

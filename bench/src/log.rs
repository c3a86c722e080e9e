//! Warnings and errors in Armadex's log, by what they say.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    level: String,
    #[serde(default)]
    message: String,
    error: Option<String>,
}

/// How often each warning was said in a log of JSON lines, with the first reason that it gave. A line that is not one counts as well: nothing
/// else should be in there.
pub(crate) fn warnings(log: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::<_, (Option<String>, usize)>::new();
    for text in log.lines() {
        let (said, error) = match serde_json::from_str::<Line>(text) {
            Ok(line) if line.level == "WARN" || line.level == "ERROR" => (line.message, line.error),
            Ok(_) => continue,
            Err(_) => ("a line that is not JSON".to_owned(), Some(text.to_owned())),
        };
        counts.entry(said).or_insert((error, 0)).1 += 1;
    }
    let with_reason = |(said, (error, count))| match error {
        Some(error) => (format!("{said} ({error})"), count),
        None => (said, count),
    };
    counts.into_iter().map(with_reason).collect()
}

/// Statements that the store tells to have taken long.
pub(crate) fn slow_statements(log: &str) -> usize {
    let lines = log
        .lines()
        .filter_map(|text| serde_json::from_str(text).ok());
    lines
        .filter(|line: &Line| line.message.ends_with("took long"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_counted_by_what_they_say() {
        let log = "{\"level\":\"INFO\",\"message\":\"fine\"}\n\
                   {\"level\":\"WARN\",\"message\":\"retrying\",\"error\":\"it hangs\"}\n\
                   {\"level\":\"WARN\",\"message\":\"retrying\",\"cluster\":\"b\"}\npanic\n";
        let found = warnings(log);
        assert_eq!(found["retrying (it hangs)"], 2);
        assert_eq!(found.values().sum::<usize>(), 3);
        let slow = "{\"level\":\"INFO\",\"message\":\"post.insert took long\"}\n";
        assert_eq!(slow_statements(&format!("{log}{slow}")), 1);
    }
}
